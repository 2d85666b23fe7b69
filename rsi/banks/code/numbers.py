"""Families of functions of numbers."""

import math
import random

from rsi.banks.code.arguments import whole
from rsi.banks.code.forms import Spec, pure


@pure
def clamp(rng: random.Random) -> Spec:
    low, high = rng.randint(-20, 5), rng.randint(20, 90)
    rule = f"Return NUM, but {low} where it is smaller and {high} where it is larger."
    return Spec("NUM", rule, f"return max({low}, min({high}, NUM))", lambda n: sorted((low, n, high))[1], whole(rng))


@pure
def digit_sum(rng: random.Random) -> Spec:
    add = rng.randint(2, 30)
    rule = f"Return the sum of the decimal digits of the absolute value of NUM, plus {add}."
    body = f"return sum(int(d) for d in str(abs(NUM))) + {add}"

    def expect(n: int) -> int:
        n, total = abs(n), add
        while n:
            n, digit = divmod(n, 10)
            total += digit
        return total

    return Spec("NUM", rule, body, expect, whole(rng, -500, 9999))


@pure
def round_to(rng: random.Random) -> Spec:
    step = rng.randint(3, 12)
    rule = f"Return the largest multiple of {step} that is not above NUM."
    return Spec("NUM", rule, f"return NUM // {step} * {step}", lambda n: n - n % step, whole(rng))


@pure
def fizz(rng: random.Random) -> Spec:
    a, b = rng.sample((2, 3, 5, 7), 2)
    rule = f'Return "both" where NUM is divisible by {a} and {b}, "first" where by {a} only,\n'
    rule += f'"second" where by {b} only, and else NUM as a string.'
    body = f'found = (NUM % {a} == 0) + 2 * (NUM % {b} == 0)\nreturn (str(NUM), "first", "second", "both")[found]'

    def expect(n: int) -> str:
        if n % (a * b) == 0:
            return "both"
        return "first" if n % a == 0 else "second" if n % b == 0 else str(n)

    return Spec("NUM", rule, body, expect, [*whole(rng), a * b, a, b])


@pure
def is_prime(rng: random.Random) -> Spec:
    least = rng.randint(5, 30)
    rule = f"Return whether NUM is a prime number of at least {least}."
    body = f"return NUM >= {least} and all(NUM % d for d in range(2, NUM))"
    sieve = {n for n in range(2, 200) if not any(n % d == 0 for d in range(2, math.isqrt(n) + 1))}
    primes = [n for n in sieve if n > 30]
    args = [*whole(rng, -3, 199), rng.choice(primes), rng.choice(primes), 2, least]
    return Spec("NUM", rule, body, lambda n: n in sieve and n >= least, args)


@pure
def count_divisors(rng: random.Random) -> Spec:
    least = rng.randint(2, 6)
    rule = f"Return how many divisors of NUM (a whole number above 0) are at least {least}, NUM itself among them."
    body = f"return sum(1 for d in range({least}, NUM + 1) if NUM % d == 0)"

    def expect(n: int) -> int:
        found = {d for d in range(1, math.isqrt(n) + 1) if n % d == 0}
        return sum(d >= least for d in found | {n // d for d in found})

    return Spec("NUM", rule, body, expect, [*whole(rng, 1, 150), 60, 36, 48])


@pure
def common_divisor(rng: random.Random) -> Spec:
    factor = rng.randint(2, 9)
    rule = f"Return the greatest common divisor of NUM and {factor} * OTHER (whole numbers above 0)."
    body = f"b = {factor} * OTHER\nwhile b:\n    NUM, b = b, NUM % b\nreturn NUM"
    args = [(rng.randint(1, 12) * k, rng.randint(1, 40)) for k in (1, 2, 3, 4, 6, 8, 12, 5, 24, factor)]
    return Spec("NUM, OTHER", rule, body, lambda a, b: math.gcd(a, factor * b), [*args, (360, 12)])


@pure
def in_base(rng: random.Random) -> Spec:
    base = rng.choice((2, 3, 4, 5, 6, 7, 8, 9))
    rule = f'Return NUM (0 or more) written in base {base}, as a string; 0 gives "0".'
    body = (
        f'made = "" if NUM else "0"\nwhile NUM:\n    made = str(NUM % {base}) + made\n    NUM //= {base}\nreturn made'
    )

    def expect(n: int) -> str:
        width = 1
        while base**width <= n:
            width += 1
        return "".join(str(n // base**k % base) for k in reversed(range(width)))

    return Spec("NUM", rule, body, expect, whole(rng, 0, 999))


@pure
def stepped_price(rng: random.Random) -> Spec:
    limit, low, high = rng.randint(5, 30), rng.randint(6, 9), rng.randint(2, 5)
    rule = f"Return the price of NUM pieces (0 or more): the first {limit} cost {low} each, each one after them {high}."
    body = f"return min(NUM, {limit}) * {low} + max(0, NUM - {limit}) * {high}"
    return Spec("NUM", rule, body, lambda n: sum(low if k < limit else high for k in range(n)), whole(rng, 0, 80))


@pure
def wrapped(rng: random.Random) -> Spec:
    low, size = rng.randint(-5, 5), rng.randint(6, 24)
    rule = f"Wrap NUM around into the range {low} to {low + size - 1}: after {low + size - 1} comes {low} again."

    def expect(n: int) -> int:
        while n < low:
            n += size
        while n >= low + size:
            n -= size
        return n

    return Spec("NUM", rule, f"return (NUM - {low}) % {size} + {low}", expect, whole(rng))


@pure
def average_without(rng: random.Random) -> Spec:
    cut = rng.randint(1, 2)
    rule = f"Return the mean of the numbers in ITEMS without the {cut} smallest and the {cut} largest, as a float."
    rule += "\nWhere nothing is left return 0.0."
    body = f"kept = sorted(ITEMS)[{cut}:-{cut}]\nreturn sum(kept) / len(kept) if kept else 0.0"

    def expect(items: list[int]) -> float:
        rest = list(items)
        for _ in range(cut):
            for pick in (min, max):
                if rest:
                    rest.remove(pick(rest))
        return float(sum(rest) / len(rest)) if rest else 0.0

    args = [[rng.randint(-9, 30) for _ in range(n)] for n in (0, 1, 2, 3, 4, 5, 6, 7, 8)]
    return Spec("ITEMS", rule, body, expect, args)
