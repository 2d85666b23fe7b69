"""Families of functions of texts."""

import itertools
import random
import string

from rsi.banks.code.arguments import texts
from rsi.banks.code.forms import Spec, pure


@pure
def count_letters(rng: random.Random) -> Spec:
    wanted = "".join(rng.sample("aeiorstln", 3))
    rule = f'Return how many characters of TEXT are one of "{wanted}", upper or lower case.'
    body = f'return sum(c in "{wanted}" for c in TEXT.lower())'
    return Spec("TEXT", rule, body, lambda t: sum(t.count(c) + t.count(c.upper()) for c in wanted), texts(rng))


@pure
def shift_letters(rng: random.Random) -> Spec:
    k = rng.randint(2, 20)
    rule = f"Move each lower-case letter a-z of TEXT {k} places on in the alphabet, after z comes a; keep the rest."
    body = f'return "".join(chr((ord(c) - 97 + {k}) % 26 + 97) if "a" <= c <= "z" else c for c in TEXT)'
    letters = string.ascii_lowercase
    moved = str.maketrans(letters, letters[k:] + letters[:k])
    return Spec("TEXT", rule, body, lambda t: t.translate(moved), texts(rng))


@pure
def long_words(rng: random.Random) -> Spec:
    least = rng.randint(4, 6)
    rule = f"Return the list of words of TEXT (split at white space) with at least {least} characters, in order."
    body = f"return [w for w in TEXT.split() if len(w) >= {least}]"
    return Spec("TEXT", rule, body, lambda t: list(filter(lambda w: len(w) > least - 1, t.split())), texts(rng))


@pure
def shorten(rng: random.Random) -> Spec:
    size, mark = rng.randint(4, 8), rng.choice(("...", "~", "--"))
    rule = f'Return TEXT where it has at most {size} characters, else its first {size} characters and "{mark}".'
    body = f'return TEXT if len(TEXT) <= {size} else TEXT[:{size}] + "{mark}"'
    return Spec("TEXT", rule, body, lambda t: t[:size] + (mark if t[size:] else ""), texts(rng))


@pure
def is_palindrome(rng: random.Random) -> Spec:
    least = rng.randint(2, 4)
    rule = "Return whether the letters and digits of TEXT, case ignored, read the same from both ends,\n"
    rule += f"and there are at least {least} of them."
    body = f"kept = [c for c in TEXT.lower() if c.isalnum()]\nreturn kept == kept[::-1] and len(kept) >= {least}"

    def expect(t: str) -> bool:
        kept = "".join(filter(str.isalnum, t)).lower()
        return len(kept) >= least and all(kept[i] == kept[-1 - i] for i in range(len(kept) // 2))

    return Spec("TEXT", rule, body, expect, [*texts(rng), "Never odd, or even", "aA", "abb a"])


@pure
def squeeze(rng: random.Random) -> Spec:
    most = rng.randint(1, 2)
    rule = f"Shorten every run of the same character in TEXT to at most {most}."
    body = f"made = []\nfor c in TEXT:\n    if made[-{most}:] != [c] * {most}:\n"
    body += "        made.append(c)\nreturn ''.join(made)"
    body = body.replace("''", '""')

    def expect(t: str) -> str:
        return "".join(c for i, c in enumerate(t) if t[max(0, i - most) : i] != c * most)

    return Spec("TEXT", rule, body, expect, [*texts(rng), "aaaabbbcc", "  a   a  ", "zzzzz"])


@pure
def swap_words(rng: random.Random) -> Spec:
    joint = rng.choice(("-", "/", "_", "+"))
    rule = f'Return the words of TEXT (split at white space) in reverse order, joined by "{joint}".'
    body = f'return "{joint}".join(reversed(TEXT.split()))'

    def expect(t: str) -> str:
        made = ""
        for word in t.split():
            made = word + (joint + made if made else "")
        return made

    return Spec("TEXT", rule, body, expect, texts(rng))


@pure
def initials(rng: random.Random) -> Spec:
    mark = rng.choice((".", "", "-"))
    rule = f'Return the first character of each word of TEXT in upper case, each followed by "{mark}".'
    body = f'return "".join(w[0].upper() + "{mark}" for w in TEXT.split())'

    def expect(t: str) -> str:
        starts = [c for i, c in enumerate(t) if not c.isspace() and (i == 0 or t[i - 1].isspace())]
        return "".join(c.upper() + mark for c in starts)

    return Spec("TEXT", rule, body, expect, texts(rng))


@pure
def pad_between(rng: random.Random) -> Spec:
    size, fill = rng.randint(8, 14), rng.choice("*.=_")
    rule = f'Return TEXT filled with "{fill}" on the left until it has {size} characters; a longer one stays.'
    body = f'return "{fill}" * max(0, {size} - len(TEXT)) + TEXT'
    return Spec("TEXT", rule, body, lambda t: t.rjust(size, fill), texts(rng))


@pure
def run_lengths(rng: random.Random) -> Spec:
    mark = rng.choice((":", "x", "="))
    rule = f'Return each run of equal characters of TEXT as the character, "{mark}" and its length, joined by ",".'
    body = "runs = []\nfor c in TEXT:\n    if runs and runs[-1][0] == c:\n        runs[-1][1] += 1\n"
    body += f'    else:\n        runs.append([c, 1])\nreturn ",".join(c + "{mark}" + str(n) for c, n in runs)'

    def expect(t: str) -> str:
        made = []
        while t:
            rest = t.lstrip(t[0])
            made.append(f"{t[0]}{mark}{len(t) - len(rest)}")
            t = rest
        return ",".join(made)

    return Spec("TEXT", rule, body, expect, texts(rng))


@pure
def same_letters(rng: random.Random) -> Spec:
    least = rng.randint(2, 4)
    rule = "Return whether TEXT and MORE consist of the same letters as often, case and spaces ignored,\n"
    rule += f"and TEXT has at least {least} characters."
    body = 'a, b = (sorted(t.lower().replace(" ", "")) for t in (TEXT, MORE))\n'
    body += f"return a == b and len(TEXT) >= {least}"

    def expect(a: str, b: str) -> bool:
        one, two = a.lower().replace(" ", ""), b.lower().replace(" ", "")
        return len(a) >= least and all(one.count(c) == two.count(c) for c in one + two)

    pool = texts(rng)
    mixed = [(t, "".join(rng.sample(t, len(t))).upper()) for t in pool[:6]]
    return Spec("TEXT, MORE", rule, body, expect, [*mixed, *itertools.pairwise(pool), ("ab", "abb")])


@pure
def alternate_case(rng: random.Random) -> Spec:
    step, start = rng.randint(2, 4), rng.randint(0, 1)
    rule = f"Turn every character of TEXT at the positions {start}, {start + step}, {start + 2 * step}, ... "
    rule += "to upper case and the others to lower case.\nPositions count from 0."
    body = f'return "".join(c.upper() if i % {step} == {start} else c.lower() for i, c in enumerate(TEXT))'

    def expect(t: str) -> str:
        made = list(t.lower())
        made[start::step] = [c.upper() for c in made[start::step]]
        return "".join(made)

    return Spec("TEXT", rule, body, expect, texts(rng))
