"""Families about JSON and CSV."""

import json
import random
from collections import defaultdict

from rsi.banks.content import NAMES, names, size, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import OUTPUTS, SHELL, kept, show
from rsi.types import FileCheck, ProgramCheck

_CITIES = ("oslo", "rome", "paris", "lima")
Row = tuple[str, str, int]  # name, city, amount


def _rows(rng: random.Random, n: int) -> list[Row]:
    """Rows of different names and different amounts; at least two share a city, and there are two cities."""
    cities = rng.sample(_CITIES, 2)
    places = [cities[0], cities[0], cities[1], *(rng.choice(cities) for _ in range(n - 3))]
    rng.shuffle(places)
    return list(zip(rng.sample(NAMES, n), places, rng.sample(range(2, 99), n), strict=True))


def _csv(rows: list[Row]) -> str:
    return text(["name,city,amount", *(f"{name},{city},{amount}" for name, city, amount in rows)])


def _json(rows: list[Row]) -> str:
    return text(
        [
            "[",
            ",\n".join(f"  {json.dumps(dict(zip(('name', 'city', 'amount'), row, strict=True)))}" for row in rows),
            "]",
        ]
    )


@family(SHELL, "json_value")
def json_value(rng: random.Random, difficulty: int) -> Instance:
    keys, values = words(rng, 2 + difficulty), words(rng, 2 + difficulty)
    name = names(rng, 1, ".json")[0]
    files = {name: json.dumps(dict(zip(keys, values, strict=True)), indent=1) + "\n"}
    at = rng.randrange(len(keys))
    command = f"python3 -c \"import json; print(json.load(open('{name}'))['{keys[at]}'])\""
    return show(rng, difficulty - 1, f"the value of '{keys[at]}' in {name}", command, values[at], files)


@family(SHELL, "json_names")
def json_names(rng: random.Random, difficulty: int) -> Instance:
    rows, name = _rows(rng, 2 + size(rng, difficulty - 1)), names(rng, 1, ".json")[0]
    city = rows[0][1]
    what = f"the names of those in {name} whose city is '{city}', in sorted order"
    program = (
        f"import json; print(*sorted(r['name'] for r in json.load(open('{name}')) if r['city'] == '{city}'), sep='\\n')"
    )
    expected = text(sorted(row[0] for row in rows if row[1] == city))
    return show(rng, difficulty - 1, what, f'python3 -c "{program}"', expected, {name: _json(rows)})


@family(SHELL, "json_set")
def json_set(rng: random.Random, difficulty: int) -> Instance:
    keys, values = words(rng, 2 + difficulty), words(rng, 3 + difficulty)
    name, new = names(rng, 1, ".json")[0], values.pop()
    content = dict(zip(keys, values, strict=True))
    key = rng.choice(keys)
    program = f"import json; d = json.load(open('{name}')); d['{key}'] = '{new}'; json.dump(d, open('{name}', 'w'))"
    look = f"python3 -I -c \"import json; print(json.dumps(json.load(open('{name}')), sort_keys=True))\""
    check = ProgramCheck(command=look, expected=json.dumps({**content, key: new}, sort_keys=True))
    files = {name: json.dumps(content, indent=1) + "\n"}
    return Instance(f"In {name}, set '{key}' to '{new}' and keep the rest.", f'python3 -c "{program}"', (check,), files)


@family(SHELL, "json_to_csv")
def json_to_csv(rng: random.Random, difficulty: int) -> Instance:
    rows, name = _rows(rng, 2 + size(rng, difficulty - 1)), names(rng, 1, ".json")[0]
    target = f"{rng.choice(OUTPUTS)}.csv"
    program = (
        f"import json; print('name,city,amount'); "
        f"[print(r['name'], r['city'], r['amount'], sep=',') for r in json.load(open('{name}'))]"
    )
    files = {name: _json(rows)}
    checks = (FileCheck(path=target, content=_csv(rows)), *kept(files))
    request = f"Turn {name} into {target} with the header name,city,amount and a line for each entry."
    return Instance(request, f'python3 -c "{program}" > {target}', checks, files)


@family(SHELL, "csv_to_json")
def csv_to_json(rng: random.Random, difficulty: int) -> Instance:
    rows, name = _rows(rng, 2 + size(rng, difficulty - 1)), names(rng, 1, ".csv")[0]
    target = f"{rng.choice(OUTPUTS)}.json"
    program = f"import csv, json; print(json.dumps(list(csv.DictReader(open('{name}')))))"
    entries = [{"amount": str(amount), "city": city, "name": person} for person, city, amount in rows]
    look = f"python3 -I -c \"import json; print(json.dumps(json.load(open('{target}')), sort_keys=True))\""
    files = {name: _csv(rows)}
    checks = (ProgramCheck(command=look, expected=json.dumps(entries)), *kept(files))
    request = f"Turn {name} into {target}: a JSON list of objects with the header's keys, all values strings."
    return Instance(request, f'python3 -c "{program}" > {target}', checks, files)


@family(SHELL, "csv_city_sum")
def csv_city_sum(rng: random.Random, difficulty: int) -> Instance:
    rows, name = _rows(rng, 2 + size(rng, difficulty - 1)), names(rng, 1, ".csv")[0]
    city = rng.choice(rows)[1]
    total = sum(row[2] for row in rows if row[1] == city)
    command = f"awk -F, '$2 == \"{city}\" {{ sum += $3 }} END {{ print sum }}' {name}"
    what = f"the sum of the amounts in {name} for the city '{city}'"
    return show(rng, difficulty - 1, what, command, str(total), {name: _csv(rows)})


@family(SHELL, "csv_totals")
def csv_totals(rng: random.Random, difficulty: int) -> Instance:
    rows, name = _rows(rng, 2 + size(rng, difficulty - 1)), names(rng, 1, ".csv")[0]
    totals: dict[str, int] = defaultdict(int)
    for _, city, amount in rows:
        totals[city] += amount
    command = f"awk -F, 'NR > 1 {{ s[$2] += $3 }} END {{ for (c in s) print c \",\" s[c] }}' {name} | sort"
    what = f"each city in {name} with the sum of its amounts (city,sum), in sorted order"
    expected = text(sorted(f"{city},{total}" for city, total in totals.items()))
    return show(rng, difficulty - 1, what, command, expected, {name: _csv(rows)})


@family(SHELL, "csv_sort")
def csv_sort(rng: random.Random, difficulty: int) -> Instance:
    rows, name = _rows(rng, 2 + size(rng, difficulty - 1)), names(rng, 1, ".csv")[0]
    what = f"{name} with its header first and its lines ordered by amount, largest first"
    command = f"{{ head -n 1 {name}; tail -n +2 {name} | sort -t, -k3,3nr; }}"
    return show(rng, difficulty - 1, what, command, _csv(sorted(rows, key=lambda row: -row[2])), {name: _csv(rows)})


@family(SHELL, "csv_join")
def csv_join(rng: random.Random, difficulty: int) -> Instance:
    rows = _rows(rng, 2 + size(rng, difficulty - 1))
    first, second = names(rng, 2, ".csv")
    left = text([f"{name},{city}" for name, city, _ in rng.sample(rows, len(rows))])
    right = text([f"{name},{amount}" for name, _, amount in rng.sample(rows, len(rows))])
    what = f"each name of {first} with its city and its amount from {second} (name,city,amount), in sorted order"
    command = f"join -t, <(sort {first}) <(sort {second})"
    expected = text(sorted(f"{name},{city},{amount}" for name, city, amount in rows))
    return show(rng, difficulty - 1, what, command, expected, {first: left, second: right})
