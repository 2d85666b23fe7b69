"""Families about dates and times of files."""

import datetime
import random
from dataclasses import replace

from rsi.banks.content import names, size, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, one_file, show
from rsi.types import FileCheck

Day = datetime.date


def _day(rng: random.Random) -> Day:
    return Day(2019, 1, 1) + datetime.timedelta(days=rng.randrange(2500))


def _days(rng: random.Random, n: int) -> list[Day]:
    """`n` different days, in no order."""
    return [Day(2019, 1, 1) + datetime.timedelta(days=day) for day in rng.sample(range(2500), n)]


def _touched(rng: random.Random, n: int) -> tuple[dict[str, str], dict[str, Day], str]:
    """Files, the day each was last changed, and the set-up that makes it so."""
    days = dict(zip(names(rng, n), _days(rng, n), strict=True))
    files = {name: text(words(rng, 2)) for name in days}
    return files, days, "; ".join(f"touch -d '{day} 12:00' {name}" for name, day in days.items())


@family(SHELL, "weekday")
def weekday(rng: random.Random, difficulty: int) -> Instance:
    day = _day(rng)
    name, files = one_file(rng, f"{day}\n")
    command = f"date -d $(cat {name}) +%A"
    return show(rng, difficulty - 1, f"the weekday of the date in {name}", command, f"{day:%A}", files)


@family(SHELL, "days_between")
def days_between(rng: random.Random, difficulty: int) -> Instance:
    first, last = sorted(_days(rng, 2))
    name, files = one_file(rng, f"{first}\n{last}\n")
    command = f"echo $(( ($(date -ud $(sed -n 2p {name}) +%s) - $(date -ud $(sed -n 1p {name}) +%s)) / 86400 ))"
    what = f"the number of days from the first date in {name} to the second"
    return show(rng, difficulty - 1, what, command, str((last - first).days), files)


@family(SHELL, "later_date")
def later_date(rng: random.Random, difficulty: int) -> Instance:
    day, n = _day(rng), rng.randint(5, 90)
    name, files = one_file(rng, f"{day}\n")
    what = f"the date that is {n} days after the one in {name}"
    command = f'date -d "$(cat {name}) + {n} days" +%F'
    return show(rng, difficulty - 1, what, command, str(day + datetime.timedelta(days=n)), files)


@family(SHELL, "newest_file")
def newest_file(rng: random.Random, difficulty: int) -> Instance:
    files, days, setup = _touched(rng, 2 + min(difficulty, 3))
    newest = max(days, key=lambda name: days[name])
    what, command = "the name of the file that was changed last", "newest=$(ls -t | head -n 1); echo $newest"
    return replace(show(rng, difficulty - 1, what, command, newest, files), setup=setup)


@family(SHELL, "delete_older")
def delete_older(rng: random.Random, difficulty: int) -> Instance:
    files, days, setup = _touched(rng, 2 + difficulty)
    ordered = sorted(days.values())
    cut = ordered[1] + datetime.timedelta(days=1)
    if cut == ordered[2]:
        return delete_older(rng, difficulty)
    old = [name for name, day in days.items() if day < cut]
    checks = tuple(FileCheck(path=name, content=None if name in old else body) for name, body in files.items())
    command = f"find . -type f ! -newermt '{cut}' -delete"
    return Instance(f"Delete the files that were last changed before {cut}.", command, checks, files, setup)


@family(SHELL, "sort_by_date")
def sort_by_date(rng: random.Random, difficulty: int) -> Instance:
    n = 2 + size(rng, difficulty - 1)
    rows = [f"{word} {day:%d.%m.%Y}" for word, day in zip(words(rng, n), _days(rng, n), strict=True)]
    ordered = sorted(rows, key=lambda row: datetime.datetime.strptime(row.split()[1], "%d.%m.%Y"))
    name, files = one_file(rng, text(rows))
    what = f"the lines of {name} in the order of their dates (day.month.year)"
    return show(rng, difficulty - 1, what, f"sort -k2.8,2.11n -k2.5,2.6n -k2.2,2.3n {name}", text(ordered), files)
