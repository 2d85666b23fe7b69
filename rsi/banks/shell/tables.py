"""Families about SQLite databases."""

import random
from collections.abc import Sequence
from dataclasses import replace

from rsi.banks.content import NAMES, count, names, size, text
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, show
from rsi.types import ProgramCheck

_GOODS = ("tea", "rice", "salt", "wool", "iron")


def _orders(rng: random.Random, difficulty: int) -> tuple[str, list[tuple[str, str, int]], str]:
    """A database's name, the rows (customer, item, price) of its table `orders`, and the set-up that makes it."""
    n = 2 + size(rng, min(difficulty, 3))
    goods = rng.sample(_GOODS, 2)
    return _table(rng, [goods[i % 2] for i in range(n)])


def _table(rng: random.Random, items: Sequence[str]) -> tuple[str, list[tuple[str, str, int]], str]:
    rows = [(rng.choice(NAMES), item, rng.randint(2, 60)) for item in items]
    rng.shuffle(rows)
    database = names(rng, 1, ".db")[0]
    values = ", ".join(f"('{customer}', '{item}', {price})" for customer, item, price in rows)
    statements = f"create table orders (customer text, item text, price integer); insert into orders values {values}"
    return database, rows, f'sqlite3 {database} "{statements}"'


@family(SHELL, "sqlite_count")
def sqlite_count(rng: random.Random, difficulty: int) -> Instance:
    item, other = rng.sample(_GOODS, 2)
    found = count(rng, difficulty)
    database, _, setup = _table(rng, [item] * found + [other] * rng.randint(1, 4))
    command = f"sqlite3 {database} \"select count(*) from orders where item = '{item}'\""
    what = f"how many rows of the table orders in {database} have the item '{item}'"
    return replace(show(rng, difficulty - 1, what, command, str(found), {}), setup=setup)


@family(SHELL, "sqlite_sum")
def sqlite_sum(rng: random.Random, difficulty: int) -> Instance:
    database, rows, setup = _orders(rng, difficulty)
    totals = {item: sum(row[2] for row in rows if row[1] == item) for item in {row[1] for row in rows}}
    command = f'sqlite3 {database} "select item, sum(price) from orders group by item order by item"'
    what = f"each item of the table orders in {database} with the sum of its prices (item|sum), ordered by item"
    expected = text([f"{item}|{totals[item]}" for item in sorted(totals)])
    return replace(show(rng, difficulty - 1, what, command, expected, {}), setup=setup)


@family(SHELL, "sqlite_change")
def sqlite_change(rng: random.Random, difficulty: int) -> Instance:
    database, rows, setup = _orders(rng, difficulty)
    item, new = rows[0][1], rng.randint(61, 99)
    request = f"In the table orders of {database}, set the price of every '{item}' to {new}"
    statement = f"update orders set price = {new} where item = '{item}'"
    after = [(customer, other, new if other == item else price) for customer, other, price in rows]
    if difficulty > 2:
        gone = rows[1][0]
        request, statement = (
            f"{request} and delete the rows of the customer '{gone}'",
            (f"{statement}; delete from orders where customer = '{gone}'"),
        )
        after = [row for row in after if row[0] != gone]
    look = f'sqlite3 {database} "select * from orders order by customer, item, price"'
    check = ProgramCheck(command=look, expected=text(["|".join(map(str, row)) for row in sorted(after)]))
    return Instance(f"{request}.", f'sqlite3 {database} "{statement}"', (check,), {}, setup)


@family(SHELL, "sqlite_from_csv")
def sqlite_from_csv(rng: random.Random, difficulty: int) -> Instance:
    source, database = names(rng, 1, ".csv")[0], names(rng, 1, ".db")[0]
    rows = [(name, rng.randint(2, 99)) for name in rng.sample(NAMES, 1 + size(rng, min(difficulty, 3)))]
    files = {source: text(["name,points", *(f"{name},{points}" for name, points in rows)])}
    load = (
        f"sqlite3 {database} 'create table scores (name text, points integer)' '.import --csv --skip 1 {source} scores'"
    )
    look = f'sqlite3 {database} "select name, points + 1 from scores order by name"'
    check = ProgramCheck(command=look, expected=text([f"{name}|{points + 1}" for name, points in sorted(rows)]))
    request = f"Load {source} into a new table scores (name text, points integer) of {database}, without its header."
    return Instance(request, load, (check,), files)
