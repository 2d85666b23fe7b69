"""Families of functions of dates and times of day."""

import calendar
import itertools
import random
from datetime import date, datetime, timedelta

from rsi.banks.code.forms import Spec, pure

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def dates(rng: random.Random) -> list[str]:
    """Ten dates, ends of months and years and a leap day among them."""
    year = rng.randint(2001, 2030)
    made = [date(rng.randint(1990, 2040), rng.randint(1, 12), rng.randint(1, 28)).isoformat() for _ in range(5)]
    return [*made, f"{year}-12-31", f"{year}-01-01", "2024-02-29", f"{year}-02-28", f"{year}-11-30"]


@pure
def is_leap(rng: random.Random) -> Spec:
    first = rng.randint(1500, 1750)
    rule = "Return whether the year NUM has a 29 February (divisible by 4, but not by 100 unless by 400);\n"
    rule += f"False for years before {first}."
    body = f"return NUM >= {first} and NUM % 4 == 0 and (NUM % 100 != 0 or NUM % 400 == 0)"
    args = [1900, 2000, 2100, 2024, 2023, 1204, 1600, first - 1, *(rng.randint(1751, 2200) for _ in range(4)), 2400]
    return Spec("NUM", rule, body, lambda n: n >= first and calendar.isleap(n), args)


@pure
def later_day(rng: random.Random) -> Spec:
    days = rng.randint(2, 60)
    rule = f"TEXT is a date as 2024-02-28. Return the date {days} days later, written in the same way."
    body = f"from datetime import date, timedelta\nreturn str(date.fromisoformat(TEXT) + timedelta({days}))"

    def expect(text: str) -> str:
        year, month, day = map(int, text.split("-"))
        day += days
        while day > (size := calendar.monthrange(year, month)[1]):
            day, month = day - size, month + 1
            year, month = (year + 1, 1) if month == 13 else (year, month)
        return f"{year:04}-{month:02}-{day:02}"

    return Spec("TEXT", rule, body, expect, dates(rng))


@pure
def days_apart(rng: random.Random) -> Spec:
    add = rng.randint(1, 9)
    rule = f"TEXT and MORE are dates as 2024-02-28. Return the number of days between them, 0 or more, plus {add}."
    body = "from datetime import date\n"
    body += f"return abs((date.fromisoformat(TEXT) - date.fromisoformat(MORE)).days) + {add}"

    def expect(a: str, b: str) -> int:
        one, two = (datetime.strptime(text, "%Y-%m-%d").date().toordinal() for text in (a, b))
        return max(one, two) - min(one, two) + add

    some = dates(rng)
    return Spec("TEXT, MORE", rule, body, expect, [*itertools.pairwise(some), (some[0], some[0])])


@pure
def day_of_week(rng: random.Random) -> Spec:
    size = rng.randint(2, 5)
    rule = f"TEXT is a date as 2024-02-28. Return the first {size} letters of the English name of its day of the week."
    body = f'from datetime import date\nnames = "{" ".join(DAYS)}".split()\n'
    body += f"return names[date.fromisoformat(TEXT).weekday()][:{size}]"

    def expect(text: str) -> str:
        known = date(2024, 1, 1)  # a Monday
        return DAYS[(date.fromisoformat(text) - known).days % 7][:size]

    return Spec("TEXT", rule, body, expect, dates(rng))


@pure
def month_ends(rng: random.Random) -> Spec:
    add = rng.randint(1, 4)
    rule = f"TEXT is a date as 2024-02-28. Return how many days its month has, plus {add}."
    body = f"import calendar\ny, m, d = TEXT.split('-')\nreturn calendar.monthrange(int(y), int(m))[1] + {add}"
    body = body.replace("'", '"')

    def expect(text: str) -> int:
        start = date.fromisoformat(text).replace(day=1)
        return ((start + timedelta(40)).replace(day=1) - start).days + add

    return Spec("TEXT", rule, body, expect, dates(rng))


@pure
def clock_after(rng: random.Random) -> Spec:
    size = rng.choice((5, 10, 15, 20))
    rule = f"TEXT is a time of day as 09:05. Return the time {size} * NUM minutes later, past midnight from 00:00 on."
    body = f'h, m = TEXT.split(":")\nn = (int(h) * 60 + int(m) + {size} * NUM) % 1440\n'
    body += 'return f"{n // 60:02}:{n % 60:02}"'

    def expect(text: str, n: int) -> str:
        return (datetime.strptime(text, "%H:%M") + timedelta(minutes=size * n)).strftime("%H:%M")

    times = [f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}" for _ in range(7)]
    args = [(time, rng.randint(0, 90)) for time in [*times, "23:59", "00:00"]]
    return Spec("TEXT, NUM", rule, body, expect, [*args, ("12:00", 0), ("23:55", 1)])


@pure
def twelve_hours(rng: random.Random) -> Spec:
    am, pm = rng.choice((("am", "pm"), (" AM", " PM"), (" a.m.", " p.m.")))
    rule = f'TEXT is a time of day as 15:07. Return it in the 12-hour form "3:07{pm}"; midnight is "12:00{am}",\n'
    rule += f'noon "12:00{pm}".'
    body = 'h, m = TEXT.split(":")\n'
    body += f'return str(int(h) % 12 or 12) + ":" + m + ("{am}" if int(h) < 12 else "{pm}")'

    def expect(text: str) -> str:
        shown = datetime.strptime(text, "%H:%M").strftime("%I:%M").lstrip("0")
        return shown + (pm if text >= "12" else am)

    times = [f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}" for _ in range(6)]
    return Spec("TEXT", rule, body, expect, [*times, "00:00", "12:00", "12:30", "00:30", "11:59", "23:01"])
