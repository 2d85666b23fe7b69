"""Families of small classes that count and change their state."""

import random
from collections.abc import Sequence
from typing import Any

from rsi.banks.code.forms import Module, module
from rsi.banks.code.objects import Step, played, stub, written
from rsi.banks.content import words


@module
def wrapping_counter(rng: random.Random) -> Module:
    start, step, top = rng.randint(-9, 5), rng.randint(2, 4), rng.randint(9, 15)
    methods = {
        "up()": f"adds {step} and returns the count; a count above {top} becomes {start} instead",
        "down()": f"takes 1 away and returns the count, but never below {start}",
        "reset()": f"sets the count to {start} and returns what it was",
    }
    source = f"""
def __init__(self):
    self.n = {start}
def up(self):
    self.n = self.n + {step} if self.n + {step} <= {top} else {start}
    return self.n
def down(self):
    self.n = max({start}, self.n - 1)
    return self.n
def reset(self):
    was, self.n = self.n, {start}
    return was
"""

    def play(steps: Sequence[Step]) -> list[Any]:
        history = [start]
        made = []
        for name, _ in steps:
            now = history[-1]
            after = {"up": now + step, "down": now - (now > start), "reset": start}[name]
            history.append(start if after > top else after)
            made.append(now if name == "reset" else history[-1])
        return made

    def draw() -> Step:
        return rng.choice(("up", "up", "up", "down", "reset")), ()

    rule = f"A counter that begins at {start}."
    some: list[list[Step]] = [[("up", ())] * 9, [("down", ()), ("up", ())]]
    return Module("class 'NAME'", stub(rule, methods), written(source), played(rng, draw, play, some))


@module
def bank_account(rng: random.Random) -> Module:
    first, fee, least = rng.randint(0, 30), rng.randint(1, 4), -rng.randint(0, 20)
    methods = {
        "deposit(amount)": "adds amount and returns the balance; raises ValueError where amount is not above 0",
        "withdraw(amount)": f"takes amount and a fee of {fee} away and returns True; where the balance would be below "
        f"{least}, it does nothing and returns False",
        "balance()": "returns the balance",
    }
    source = f"""
def __init__(self):
    self.n = {first}
def deposit(self, amount):
    if amount <= 0:
        raise ValueError
    self.n += amount
    return self.n
def withdraw(self, amount):
    if self.n - amount - {fee} < {least}:
        return False
    self.n -= amount + {fee}
    return True
def balance(self):
    return self.n
"""

    def draw() -> Step:
        amount = rng.randint(1, 40)
        return rng.choice(
            (("deposit", (amount,)), ("withdraw", (amount,)), ("withdraw", (amount // 2,)), ("balance", ()))
        )

    def play(steps: Sequence[Step]) -> list[Any]:
        entries, made = [first], []
        for name, args in steps:
            if name == "deposit":
                if args[0] < 1:
                    raise ValueError
                entries.append(args[0])
            fits = name == "withdraw" and sum(entries) - least >= args[0] + fee
            entries += [-args[0], -fee] if fits else []
            made.append(fits if name == "withdraw" else sum(entries))
        return made

    some: list[list[Step]] = [[("deposit", (0,))], [("withdraw", (first - fee - least,)), ("balance", ())]]
    some.append([("withdraw", (first - fee - least + 1,)), ("balance", ())])
    rule = f"An account that begins with {first}."
    return Module("class 'NAME'", stub(rule, methods), written(source), played(rng, draw, play, some))


@module
def turnstile(rng: random.Random) -> Module:
    price, opened = rng.randint(2, 4), words(rng, 1)[0]
    methods = {
        "coin()": f'pays 1: after {price} coins since it was locked it is "{opened}"; returns "{opened}" or "locked"',
        "push()": f'returns True where it is "{opened}", and locks it; else returns False',
        "lost()": f'returns how many coins were paid while it was "{opened}"; those do not count for the next time',
    }
    source = f"""
def __init__(self):
    self.n = self.more = 0
def coin(self):
    if self.n == {price}:
        self.more += 1
    else:
        self.n += 1
    return "{opened}" if self.n == {price} else "locked"
def push(self):
    was, self.n = self.n, 0 if self.n == {price} else self.n
    return was == {price}
def lost(self):
    return self.more
"""

    def play(steps: Sequence[Step]) -> list[Any]:
        state, paid, lost = "locked", 0, 0
        made: list[Any] = []
        for name, _ in steps:
            if name == "coin":
                lost += state == opened
                paid += state == "locked"
                state = opened if paid >= price else "locked"
                made.append(state)
            elif name == "push":
                made.append(state == opened)
                paid, state = (0, "locked") if state == opened else (paid, state)
            else:
                made.append(lost)
        return made

    def draw() -> Step:
        return rng.choice(("coin", "coin", "coin", "push", "lost")), ()

    some: list[list[Step]] = [
        [("push", ())],
        [("coin", ())] * 6 + [("push", ()), ("lost", ()), ("coin", ()), ("push", ())],
    ]
    return Module("class 'NAME'", stub("A gate.", methods), written(source), played(rng, draw, play, some))


@module
def score_board(rng: random.Random) -> Module:
    bonus, every = rng.randint(2, 99), rng.randint(2, 3)
    methods = {
        "win(name)": f"gives name 1 point, and {bonus} instead for each {every}. win of that name; returns its points",
        "leader()": "returns the name with the most points, of several the alphabetically first; None for none",
        "table()": "returns the list of [name, points], sorted by name",
    }
    source = f"""
def __init__(self):
    self.w, self.p = {{}}, {{}}
def win(self, name):
    self.w[name] = self.w.get(name, 0) + 1
    self.p[name] = self.p.get(name, 0) + ({bonus} if self.w[name] % {every} == 0 else 1)
    return self.p[name]
def leader(self):
    return min(self.p, key=lambda k: (-self.p[k], k), default=None)
def table(self):
    return [[k, self.p[k]] for k in sorted(self.p)]
"""
    pool = words(rng, 3)

    def points(wins: int) -> int:
        return wins // every * bonus + wins - wins // every

    def play(steps: Sequence[Step]) -> list[Any]:
        won: list[str] = []
        made: list[Any] = []
        for name, args in steps:
            won += args
            table: list[Any] = [[one, points(won.count(one))] for one in sorted(set(won))]
            best = max([score for _, score in table], default=0)
            first = next((one for one, score in table if score == best), None)
            made.append(points(won.count(args[0])) if name == "win" else first if name == "leader" else table)
        return made

    def draw() -> Step:
        return rng.choice((("win", (rng.choice(pool),)), ("win", (pool[0],)), ("leader", ()), ("table", ())))

    some: list[list[Step]] = [[("leader", ()), ("table", ())], [("win", (pool[1],))] * 4]
    return Module("class 'NAME'", stub("A board.", methods), written(source), played(rng, draw, play, some))
