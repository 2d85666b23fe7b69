"""Makes tasks. Reads a JSON list of [family, difficulty, seed] and prints a JSON list of as many instances.

It runs in a sandbox as `python3 -I generator.py`: the standard library alone and no network, and the same seed must
give the same instance each time (so no clock, and no order of a set). What is expected is computed here, in Python, and
not by running the reference: each then proves the other.

An instance holds
  request    what the agent is asked
  reference  a shell command that does it (the answer itself, where bank.toml says needs_sandbox = false)
  checks     {"kind": "output", "expected": TEXT, "mode": "exact" | "numeric" | "lines"}
             {"kind": "file", "path": PATH, "content": TEXT or null (must not exist), "mode": 0o644 or null}
             {"kind": "program", "command": COMMAND, "expected": TEXT} (runs over the workspace afterwards)
  files      path -> text, in the workspace before the agent begins; optional
  setup      a shell command that finishes the workspace; optional
"""

import json
import random
import sys

TEXT = """
amber apple arrow basket beach berry bottle branch bread bridge candle carpet castle cherry cloud coffee
copper desert dinner dragon eagle engine field flower forest garden guitar hammer harbor island jacket kettle
ladder lemon marble meadow mirror needle ocean orange paper pencil pepper pillow planet pocket rabbit ribbon
river rocket saddle salmon shadow silver spider spring stone summer table temple thunder ticket tiger tower
valley velvet village violin walnut window winter wizard yellow
"""
WORDS = TEXT.split()


def count_word(rng: random.Random, difficulty: int) -> dict[str, object]:
    word, *others = rng.sample(WORDS, 2 + 2 * difficulty)
    times = rng.randint(1, 8 + difficulty)  # too many to guess one: `rsi bank check` measures it
    lines = [word] * times + others
    rng.shuffle(lines)
    return {
        "request": f"How many lines of list.txt are '{word}'? Print the number.",
        "reference": f"grep -cx '{word}' list.txt",
        "checks": [{"kind": "output", "expected": str(times), "mode": "numeric"}],
        "files": {"list.txt": "\n".join(lines) + "\n"},
    }


def longest_line(rng: random.Random, difficulty: int) -> dict[str, object]:
    rows = [" ".join(rng.sample(WORDS, rng.randint(1, 2))) for _ in range(2 + 2 * difficulty)]
    longest = " ".join(rng.sample(WORDS, 4))
    place = rng.randint(0, len(rows))
    rows.insert(place, longest)
    return {
        "request": "Write the longest line of notes.txt to longest.txt.",
        "reference": "awk 'length > length(most) { most = $0 } END { print most }' notes.txt > longest.txt",
        "checks": [{"kind": "file", "path": "longest.txt", "content": longest + "\n"}],
        "files": {"notes.txt": "\n".join(rows) + "\n"},
    }


def total(rng: random.Random, difficulty: int) -> dict[str, object]:
    numbers = [rng.randint(1, 10 ** min(difficulty, 2) * 5) for _ in range(2 + 2 * difficulty)]
    return {
        "request": "Print the sum of the numbers in costs.txt.",
        "reference": "awk '{ s += $1 } END { print s }' costs.txt",
        "checks": [{"kind": "output", "expected": str(sum(numbers)), "mode": "numeric"}],
        "files": {"costs.txt": "\n".join(map(str, numbers)) + "\n"},
    }


FAMILIES = {"count_word": count_word, "longest_line": longest_line, "total": total}

if __name__ == "__main__":
    wanted = json.load(sys.stdin)
    json.dump([FAMILIES[family](random.Random(seed), difficulty) for family, difficulty, seed in wanted], sys.stdout)
