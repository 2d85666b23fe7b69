"""Families of small classes that hold values."""

import random
from collections.abc import Sequence
from typing import Any

from rsi.banks.code.forms import Module, module
from rsi.banks.code.objects import Step, played, stub, written
from rsi.banks.content import words


@module
def bounded_stack(rng: random.Random) -> Module:
    size, none = rng.randint(2, 4), rng.randint(-99, -1)
    methods = {
        "push(value)": f"puts value on top and returns True, or does nothing and returns False where there are {size}",
        "pop()": f"takes the top value away and returns it, or returns {none} where there is none",
        "size()": "returns how many there are",
    }
    source = f"""
def __init__(self):
    self.v = []
def push(self, value):
    if len(self.v) >= {size}:
        return False
    self.v.append(value)
    return True
def pop(self):
    return self.v.pop() if self.v else {none}
def size(self):
    return len(self.v)
"""

    def draw() -> Step:
        return rng.choice((("push", (rng.randint(0, 50),)), ("push", (rng.randint(0, 50),)), ("pop", ()), ("size", ())))

    def play(steps: Sequence[Step]) -> list[Any]:
        held: tuple[Any, ...] = ()
        made: list[Any] = []
        for name, args in steps:
            if name == "push":
                made.append(len(held) < size)
                held = held + args if len(held) < size else held
            elif name == "pop":
                made.append(held[-1] if held else none)
                held = held[:-1]
            else:
                made.append(len(held))
        return made

    return Module("class 'NAME'", stub("A stack.", methods), written(source), played(rng, draw, play, [[("pop", ())]]))


@module
def waiting_queue(rng: random.Random) -> Module:
    urgent = words(rng, 1)[0]
    methods = {
        "join(name)": f'puts name last, but "{urgent}" first; returns how many wait then',
        "serve()": "takes the first name away and returns it; raises IndexError where nobody waits",
        "waiting()": "returns the list of names, the first one first",
    }
    source = f"""
def __init__(self):
    self.v = []
def join(self, name):
    self.v.insert(0 if name == "{urgent}" else len(self.v), name)
    return len(self.v)
def serve(self):
    return self.v.pop(0)
def waiting(self):
    return list(self.v)
"""
    pool = [urgent, *[word for word in words(rng, 4) if word != urgent]]

    def draw() -> Step:
        return rng.choice(
            (("join", (rng.choice(pool),)), ("join", (rng.choice(pool),)), ("serve", ()), ("waiting", ()))
        )

    def play(steps: Sequence[Step]) -> list[Any]:
        first: list[str] = []  # the urgent ones
        rest: list[str] = []
        made: list[Any] = []
        for name, args in steps:
            if name == "join":
                (first if args[0] == urgent else rest).append(args[0])
                made.append(len(first) + len(rest))
            elif name == "serve":
                made.append((first or rest).pop(0))
            else:
                made.append(first + rest)
        return made

    some: list[list[Step]] = [
        [("serve", ())],
        [("join", (pool[1],)), ("join", (urgent,)), ("waiting", ()), ("serve", ())],
    ]
    return Module("class 'NAME'", stub("A queue.", methods), written(source), played(rng, draw, play, some))


@module
def recent_cache(rng: random.Random) -> Module:
    size, none = rng.randint(2, 3), words(rng, 1)[0]
    methods = {
        "put(key, value)": f"keeps value under key; where there are more than {size} keys, the longest unused one goes",
        "get(key)": f'returns what is kept under key, which counts as a use, as put does; "{none}" for none',
        "keys()": "returns the list of keys, the longest unused first",
    }
    source = f"""
def __init__(self):
    self.d = {{}}
def put(self, key, value):
    self.d.pop(key, None)
    self.d[key] = value
    if len(self.d) > {size}:
        del self.d[next(iter(self.d))]
def get(self, key):
    if key not in self.d:
        return "{none}"
    self.d[key] = self.d.pop(key)
    return self.d[key]
def keys(self):
    return list(self.d)
"""

    def draw() -> Step:
        key = rng.choice("abcd")
        return rng.choice((("put", (key, rng.randint(1, 9))), ("put", (key, 0)), ("get", (key,)), ("keys", ())))

    def play(steps: Sequence[Step]) -> list[Any]:
        used: dict[str, int] = {}
        held: dict[str, int] = {}
        made: list[Any] = []
        for time, (name, args) in enumerate(steps):
            if name == "put":
                held[args[0]], used[args[0]] = args[1], time
                if len(held) > size:
                    del held[min(held, key=lambda key: used[key])]
                made.append(None)
            elif name == "get":
                made.append(held.get(args[0], none))
                used[args[0]] = time
            else:
                made.append(sorted(held, key=lambda key: used[key]))
        return made

    some: list[list[Step]] = [[("put", ("a", 1)), ("put", ("b", 2)), ("put", ("c", 3)), ("get", ("a",)), ("keys", ())]]
    some.append(
        [("put", ("a", 1)), ("put", ("b", 2)), ("get", ("a",)), ("put", ("c", 3)), ("put", ("d", 4)), ("keys", ())]
    )
    return Module("class 'NAME'", stub("A small cache.", methods), written(source), played(rng, draw, play, some))


@module
def inventory(rng: random.Random) -> Module:
    low = rng.randint(2, 12)
    methods = {
        "add(name, count)": "adds count pieces and returns how many there are of name",
        "take(name, count)": "takes pieces away and returns how many are left; raises KeyError where there are too few",
        "scarce()": f"returns the sorted list of names that were ever added and of which there are fewer than {low}",
    }
    source = f"""
def __init__(self):
    self.d = {{}}
def add(self, name, count):
    self.d[name] = self.d.get(name, 0) + count
    return self.d[name]
def take(self, name, count):
    if self.d.get(name, 0) < count:
        raise KeyError(name)
    self.d[name] -= count
    return self.d[name]
def scarce(self):
    return sorted(k for k, n in self.d.items() if n < {low})
"""
    pool = words(rng, 3)

    def draw() -> Step:
        name = rng.choice(pool[:2])
        return rng.choice((("add", (name, rng.randint(1, 9))), ("add", (name, 4)), ("take", (name, 1)), ("scarce", ())))

    def play(steps: Sequence[Step]) -> list[Any]:
        log: list[tuple[str, int]] = []
        made: list[Any] = []
        for name, args in steps:
            if name == "scarce":
                names = {one for one, _ in log}
                made.append(sorted(one for one in names if sum(n for other, n in log if other == one) < low))
                continue
            log.append((args[0], args[1] if name == "add" else -args[1]))
            made.append(sum(n for other, n in log if other == args[0]))
            if made[-1] < 0:
                raise KeyError
        return made

    a, b, c = pool
    some: list[list[Step]] = [[("take", (a, 1))], [("add", (c, 3)), ("take", (c, 3)), ("scarce", ())]]
    some.append([("add", (b, 9)), ("add", (a, 1)), ("take", (b, 8)), ("scarce", ())])
    return Module("class 'NAME'", stub("A store.", methods), written(source), played(rng, draw, play, some))
