"""Families of modules of two functions, of which one works with the other."""

import random

from rsi.banks.code.arguments import lists, texts, whole
from rsi.banks.code.forms import Module, module
from rsi.banks.content import words

WHAT = "functions 'NAME' and 'OTHER_NAME'"


def stubs(one: str, rule: str, two: str, other: str) -> str:
    parts = [
        f'def {head}:\n    """{said}"""\n    raise NotImplementedError' for head, said in ((one, rule), (two, other))
    ]
    return "\n\n".join(parts)


@module
def encode_decode(rng: random.Random) -> Module:
    mark, k = rng.choice("*#+"), rng.randint(2, 99)
    given = stubs(
        "NAME(text)",
        f'Return the code numbers (ord) of the characters of text plus {k}, as strings joined by "{mark}".',
        "OTHER_NAME(code)",
        'Return the text whose NAME is code; "" for "".',
    )
    solution = f'def NAME(text):\n    return "{mark}".join(str(ord(c) + {k}) for c in text)\n'
    solution += f'def OTHER_NAME(code):\n    return "".join(chr(int(n) - {k}) for n in code.split("{mark}") if n)'
    calls: list[tuple[str, object]] = [("OTHER_NAME('')", "")]
    for text in texts(rng):
        code = ""
        for c in text:
            code += (mark if code else "") + f"{ord(c) + k}"
        calls += [(f"NAME({text!r})", code), (f"OTHER_NAME({code!r})", text)]
    return Module(WHAT, given, solution, calls)


@module
def score_and_rank(rng: random.Random) -> Module:
    vowel, other = rng.randint(13, 40), rng.randint(1, 12)
    given = stubs(
        "NAME(word)",
        f"Return the score of word: {vowel} for each of its characters aeiou, {other} for each other one.",
        "OTHER_NAME(items)",
        "Return the words in items sorted by NAME, the largest first, equal ones in alphabetical order.",
    )
    solution = f'def NAME(word):\n    return sum({vowel} if c in "aeiou" else {other} for c in word)\n'
    solution += "def OTHER_NAME(items):\n    return sorted(items, key=lambda w: (-NAME(w), w))"

    def score(word: str) -> int:
        vowels = sum(map(word.count, "aeiou"))
        return vowels * vowel + (len(word) - vowels) * other

    calls: list[tuple[str, object]] = [(f"NAME({word!r})", score(word)) for word in ["", "Aa", *words(rng, 3)]]
    for items in lists(rng):
        ranked = sorted(sorted(items), key=score, reverse=True)
        calls.append((f"OTHER_NAME({items!r})", ranked))
    return Module(WHAT, given, solution, calls)


@module
def check_and_filter(rng: random.Random) -> Module:
    low, step = rng.randint(-30, 30), rng.randint(2, 5)
    given = stubs(
        "NAME(number)",
        f"Return whether number is above {low} and number - {low} is divisible by {step}.",
        "OTHER_NAME(numbers)",
        "Return [the numbers for which NAME holds, in order; how many others there are].",
    )
    solution = f"def NAME(number):\n    return number > {low} and (number - {low}) % {step} == 0\n"
    solution += "def OTHER_NAME(numbers):\n    kept = [n for n in numbers if NAME(n)]\n"
    solution += "    return [kept, len(numbers) - len(kept)]"
    good = set(range(low + step, 400, step))
    pool = [*whole(rng), low, low + step, low - step]
    calls: list[tuple[str, object]] = [(f"NAME({n})", n in good) for n in pool[:5] + pool[-3:]]
    for n in (0, 1, 3, 6, len(pool)):
        some = rng.sample(pool, n)
        kept = [value for value in some if value in good]
        calls.append((f"OTHER_NAME({some})", [kept, n - len(kept)]))
    return Module(WHAT, given, solution, calls)


@module
def best_of_functions(rng: random.Random) -> Module:
    a, b = rng.randint(2, 9), rng.randint(1, 20)
    given = stubs(
        "NAME(number)",
        f"Return the absolute value of {a} * number - {b}.",
        "OTHER_NAME(numbers)",
        "Return the number with the smallest NAME, the first of several, or None where there are none.",
    )
    solution = f"def NAME(number):\n    return abs({a} * number - {b})\n"
    solution += "def OTHER_NAME(numbers):\n    return min(numbers, key=NAME, default=None)"

    def value(n: int) -> int:
        return a * n - b if a * n > b else b - a * n

    calls: list[tuple[str, object]] = [(f"NAME({n})", value(n)) for n in whole(rng, -9, 30, 4)]
    for n in (0, 1, 2, 4, 6, 8):
        some = [rng.randint(-9, 20) for _ in range(n)]
        best = None
        for one in some:
            best = one if best is None or value(one) < value(best) else best
        calls.append((f"OTHER_NAME({some})", best))
    return Module(WHAT, given, solution, calls)
