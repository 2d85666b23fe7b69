"""Families of small classes. A hidden call makes an object, calls its methods and shows what each returned."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from rsi.banks.code.forms import Module, Raised, module
from rsi.banks.content import words

Step = tuple[str, tuple[Any, ...]]  # a method and its arguments
Play = Callable[[Sequence[Step]], Any]


def stub(rule: str, methods: dict[str, str]) -> str:
    """A class without methods whose docstring states them."""
    said = [f"    {name}: {what}" for name, what in methods.items()]
    return "\n".join(["class NAME:", f'    """{rule}', "", *said, '    """'])


def written(source: str) -> str:
    return "class NAME:\n" + "\n".join("    " + line for line in source.strip("\n").split("\n"))


def played(rng: random.Random, draw: Callable[[], Step], play: Play, always: Sequence[list[Step]] = ()) -> list[Any]:
    """Calls with their values: what each step returns, in order. `play` raises where a step does."""
    runs = [*always, *([draw() for _ in range(n)] for n in (2, 3, 4, 5, 6, 8, 10, 12))]
    calls: list[Any] = []
    for steps in runs:
        shown = ", ".join(f"s.{name}({', '.join(map(repr, args))})" for name, args in steps)
        try:
            value = play(steps)
        except (ValueError, LookupError) as problem:
            value = Raised(type(problem).__name__)
        calls.append((f"(lambda s: [{shown}])(NAME())", value))
    return calls


@module
def bounded_stack(rng: random.Random) -> Module:
    size, none = rng.randint(2, 4), rng.randint(-9, -1)
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

    return Module("class NAME", stub("A stack.", methods), written(source), played(rng, draw, play, [[("pop", ())]]))


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
    return Module("class NAME", stub("A queue.", methods), written(source), played(rng, draw, play, some))


@module
def wrapping_counter(rng: random.Random) -> Module:
    start, step, top = rng.randint(0, 5), rng.randint(2, 4), rng.randint(9, 15)
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
    return Module("class NAME", stub(rule, methods), written(source), played(rng, draw, play, some))


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
    return Module("class NAME", stub("A small cache.", methods), written(source), played(rng, draw, play, some))


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
    return Module("class NAME", stub(rule, methods), written(source), played(rng, draw, play, some))


@module
def turnstile(rng: random.Random) -> Module:
    price = rng.randint(2, 4)
    methods = {
        "coin()": f'pays 1: after {price} coins since it was last locked it is "open"; returns "open" or "locked"',
        "push()": 'returns True where it is "open", and locks it; else returns False',
        "lost()": 'returns how many coins were paid while it was "open"; those do not count for the next time',
    }
    source = f"""
def __init__(self):
    self.n = self.more = 0
def coin(self):
    if self.n == {price}:
        self.more += 1
    else:
        self.n += 1
    return "open" if self.n == {price} else "locked"
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
                lost += state == "open"
                paid += state == "locked"
                state = "open" if paid >= price else "locked"
                made.append(state)
            elif name == "push":
                made.append(state == "open")
                paid, state = (0, "locked") if state == "open" else (paid, state)
            else:
                made.append(lost)
        return made

    def draw() -> Step:
        return rng.choice(("coin", "coin", "coin", "push", "lost")), ()

    some: list[list[Step]] = [
        [("push", ())],
        [("coin", ())] * 6 + [("push", ()), ("lost", ()), ("coin", ()), ("push", ())],
    ]
    return Module("class NAME", stub("A gate.", methods), written(source), played(rng, draw, play, some))


@module
def inventory(rng: random.Random) -> Module:
    low = rng.randint(2, 5)
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
    return Module("class NAME", stub("A store.", methods), written(source), played(rng, draw, play, some))


@module
def score_board(rng: random.Random) -> Module:
    bonus, every = rng.randint(2, 9), rng.randint(2, 3)
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
    return Module("class NAME", stub("A board.", methods), written(source), played(rng, draw, play, some))
