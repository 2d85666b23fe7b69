"""Families of functions that read or write small formats."""

import itertools
import random
import re

from rsi.banks.code.arguments import whole
from rsi.banks.code.forms import Spec, pure
from rsi.banks.content import words

ROMAN = ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


def roman(n: int) -> str:
    tens, ones = divmod(n % 100, 10)
    units = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
    return "C" * (n // 100) + units[tens].translate(str.maketrans("IVX", "XLC")) + units[ones]


@pure
def sum_column(rng: random.Random) -> Spec:
    column, mark = rng.randint(1, 3), rng.choice(";,|")
    rule = (
        f'TEXT holds lines of whole numbers with "{mark}" between them. Return the sum of column {column} (from 1);\n'
    )
    rule += "lines with fewer columns count 0, and so do empty lines."
    body = f'rows = [r.split("{mark}") for r in TEXT.split("\\n")]\n'
    body += f"return sum(int(r[{column - 1}]) for r in rows if len(r) >= {column} and r[{column - 1}])"
    tables = [[[rng.randint(0, 40) for _ in range(rng.randint(1, 4))] for _ in range(n)] for n in range(9)]

    def expect(text: str) -> int:
        rows = [re.findall(r"\d+", line) for line in text.splitlines()]
        return sum(int(row[column - 1]) for row in rows if len(row) >= column)

    return Spec("TEXT", rule, body, expect, ["\n".join(mark.join(map(str, row)) for row in table) for table in tables])


@pure
def read_settings(rng: random.Random) -> Spec:
    mark, note = rng.choice("=:"), rng.choice("#;")
    rule = (
        f"TEXT holds lines KEY{mark}VALUE. Return them as a dictionary of strings, both stripped; a later key wins.\n"
    )
    rule += f'Skip lines without "{mark}" and lines that start with "{note}".'
    body = f'rows = [r for r in TEXT.split("\\n") if "{mark}" in r and not r.startswith("{note}")]\n'
    body += f'return {{r.split("{mark}", 1)[0].strip(): r.split("{mark}", 1)[1].strip() for r in rows}}'

    def expect(text: str) -> dict[str, str]:
        made = {}
        for line in text.splitlines():
            key, found, value = line.partition(mark)
            if found and line[0] != note:
                made[key.strip()] = value.strip()
        return made

    a, b, c, d = words(rng, 4)
    lines = [f"{a}{mark}{b}", f"{note}{a}{mark}{c}", f" {b} {mark} 7 ", c, f"{a}{mark}{d}{mark}2", f"{d}{mark}", ""]
    args = ["\n".join(rng.sample(lines, n)) for n in (1, 2, 3, 4, 5, 6, 7, 7)]
    return Spec("TEXT", rule, body, expect, ["", *lines[:3], *args])


@pure
def read_duration(rng: random.Random) -> Spec:
    factor = rng.choice((1, 10, 1000))
    rule = "TEXT is a duration as 2h5m10s: whole hours, minutes and seconds, each of which may be missing.\n"
    rule += f"Return it in units of 1/{factor} second; raise ValueError for anything else, such as 5 or 3d."
    body = 'import re\nm = re.fullmatch(r"(?:(\\d+)h)?(?:(\\d+)m)?(?:(\\d+)s)?", TEXT)\nif not m or not TEXT:\n'
    body += (
        f"    raise ValueError\nh, n, s = (int(g or 0) for g in m.groups())\nreturn (h * 3600 + n * 60 + s) * {factor}"
    )

    def expect(text: str) -> int:
        total, left, units = 0, "", {"h": 3600, "m": 60, "s": 1}
        for c in text:
            if c.isdigit():
                left += c
                continue
            value, order = units.get(c, 0), list(units)
            if not value or not left:
                raise ValueError
            total, left = total + int(left) * value, ""
            units = {unit: units[unit] for unit in order[order.index(c) + 1 :]}
        if left or not text:
            raise ValueError
        return total * factor

    h, m, s = (rng.randint(1, 59) for _ in range(3))
    args = [f"{h}h{m}m{s}s", f"{h}h", f"{m}m", f"{s}s", f"{h}h{s}s", f"{m}m{h}h", f"{h}", f"{s}d", "0s", f"{h}m{s}s"]
    return Spec("TEXT", rule, body, expect, args)


@pure
def write_duration(rng: random.Random) -> Spec:
    mark = rng.choice(" :,")
    rule = f'Return NUM seconds in hours, minutes and seconds with "{mark}" between: "1h{mark}2m{mark}3s".\n'
    rule += 'Leave out the parts that are 0; 0 gives "0s".'
    body = 'parts = [(NUM // 3600, "h"), (NUM // 60 % 60, "m"), (NUM % 60, "s")]\n'
    body += f'return "{mark}".join(str(n) + u for n, u in parts if n) or "0s"'

    def expect(n: int) -> str:
        made = []
        for size, unit in ((3600, "h"), (60, "m"), (1, "s")):
            count, n = divmod(n, size)
            made += [f"{count}{unit}"] * (count > 0)
        return mark.join(made) if made else "0s"

    return Spec("NUM", rule, body, expect, [*whole(rng, 0, 9999), 3600, 60, 3661, 7205])


@pure
def newer_version(rng: random.Random) -> Spec:
    sign = rng.choice(["v", "r"])
    rule = f'TEXT and MORE are versions as "{sign}1.12.3", of one to three numbers; missing numbers are 0.\n'
    rule += "Return the newer of the two as it is written; TEXT where they are equal."
    body = f'def key(t):\n    return ([int(n) for n in t.lstrip("{sign}").split(".")] + [0, 0])[:3]\n'
    body += "return MORE if key(MORE) > key(TEXT) else TEXT"

    def value(text: str) -> int:
        found = [int(n) for n in re.findall(r"\d+", text)]
        return sum(n * 1000 ** (2 - i) for i, n in enumerate(found))

    pool = [sign + ".".join(str(rng.randint(0, 12)) for _ in range(n)) for n in (1, 2, 3, 3, 2, 3)]
    args = [*itertools.pairwise(pool), (f"{sign}1.2", f"{sign}1.10"), (f"{sign}2", f"{sign}2.0.0")]
    args += [(f"{sign}2.0", f"{sign}2"), (f"{sign}1.9.9", f"{sign}2"), (f"{sign}0.0.9", f"{sign}0.0.10")]
    return Spec("TEXT, MORE", rule, body, lambda a, b: b if value(b) > value(a) else a, args)


@pure
def read_roman(rng: random.Random) -> Spec:
    add = rng.randint(2, 40)
    rule = f"Return the value of the Roman numeral TEXT (I, V, X, L, C), plus {add}."
    body = 'v = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[c] for c in TEXT.upper()] + [0]\n'
    body += f"return sum(-a if a < b else a for a, b in zip(v, v[1:])) + {add}"
    numbers = {roman(n): n for n in (4, 9, 14, 40, 49, 94, *rng.sample(range(1, 300), 6))}
    return Spec("TEXT", rule, body, lambda t: numbers[t] + add, list(numbers))


@pure
def write_roman(rng: random.Random) -> Spec:
    empty = rng.choice(("nulla", "N", "-"))
    rule = f'Return NUM (0 to 399) as a Roman numeral (with IV, IX, XL, XC); 0 gives "{empty}".'
    body = f'made = ""\nfor v, r in {ROMAN}:\n    made += r * (NUM // v)\n    NUM %= v\nreturn made or "{empty}"'
    body = body.replace("'", '"')
    return Spec("NUM", rule, body, lambda n: roman(n) or empty, whole(rng, 0, 399))


@pure
def expand_ranges(rng: random.Random) -> Spec:
    mark = rng.choice(("-", "..", "~"))
    rule = (
        f'TEXT holds whole numbers and ranges as "2{mark}5", with commas between them. Return the sorted list of all\n'
    )
    rule += "different numbers meant, the ends of ranges included; a range that runs backwards is empty."
    body = f'made = set()\nfor p in TEXT.split(","):\n    a, _, b = p.partition("{mark}")\n'
    body += "    made |= set(range(int(a), int(b or a) + 1))\nreturn sorted(made)"

    def expect(text: str) -> list[int]:
        ends = [[int(n) for n in re.findall(r"\d+", part)] for part in text.split(",")]
        return [n for n in range(100) if any(end[0] <= n <= end[-1] for end in ends)]

    def part() -> str:
        a, b = rng.randint(0, 40), rng.randint(0, 9)
        return rng.choice((str(a), f"{a}{mark}{a + b}"))

    args = [",".join(part() for _ in range(n)) for n in (1, 2, 3, 4, 5, 6)]
    return Spec("TEXT", rule, body, expect, [*args, f"7{mark}3", f"5{mark}5", f"9,2{mark}4,3", f"1{mark}3,2{mark}6"])


@pure
def format_table(rng: random.Random) -> Spec:
    mark, size = rng.choice("|:!"), rng.randint(4, 7)
    rule = f"Return one string of the words in ITEMS, each cut to {size} characters or filled with spaces to {size},\n"
    rule += f'with "{mark}" before, between and after them; nothing but "{mark}" for none.'
    body = f'return "{mark}" + "".join(w[:{size}].ljust({size}) + "{mark}" for w in ITEMS)'
    args = [[], *(words(rng, n) for n in (1, 1, 2, 3, 2, 4, 5)), ["", "ab"]]

    def expect(items: list[str]) -> str:
        cells = [(word + " " * size)[:size] for word in items]
        return mark.join(["", *cells, ""]) if cells else mark

    return Spec("ITEMS", rule, body, expect, args)
