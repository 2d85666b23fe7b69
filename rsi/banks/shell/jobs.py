"""Jobs of five to ten commands. Difficulty 4 is the job, 5 has a step more."""

import hashlib
import json
import random
from collections import Counter

from rsi.banks.content import NAMES, names, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, kept
from rsi.types import Check, FileCheck, ProgramCheck

_LEVELS = ("error", "warning", "info")


def _file(path: str, content: str | None) -> FileCheck:
    return FileCheck(path=path, content=content)


@family(SHELL, "tidy_folder")
def tidy_folder(rng: random.Random, difficulty: int) -> Instance:
    stems = names(rng, 4, "")
    paths = [f"{stem}{suffix}" for stem, suffix in zip(stems, (".txt", ".txt", ".log", ".csv"), strict=True)]
    files = {path: text(words(rng, 2)) for path in paths}
    moved = {path: f"{path.rsplit('.')[1]}/{path}" for path in paths}
    index = text(sorted(moved.values()))
    request = (
        "Sort the files into folders named after their endings (txt, log, csv). Then write paths.txt with the path of "
        "each moved file, such as txt/a.txt, in sorted order"
    )
    command = (
        "mkdir txt log csv; for f in *.txt *.log *.csv; do mv $f ${f##*.}/; done; "
        "find txt log csv -type f | LC_ALL=C sort > paths.txt"
    )
    checks: list[Check] = [_file("paths.txt", index)]
    checks += [c for path, place in moved.items() for c in (_file(path, None), _file(place, files[path]))]
    if difficulty > 4:
        request, command = (
            f"{request}, and counts.txt with the number of files in each folder, such as 'csv 1', sorted",
            (f"{command}; for d in csv log txt; do echo $d $(ls $d | wc -l); done > counts.txt"),
        )
        checks.append(_file("counts.txt", "csv 1\nlog 1\ntxt 2\n"))
    return Instance(f"{request}.", command, tuple(checks), files)


@family(SHELL, "log_report")
def log_report(rng: random.Random, difficulty: int) -> Instance:
    rows = [
        f"{rng.randint(10, 23)}:{rng.randint(10, 59)} {level} {word}"
        for level, word in zip([*_LEVELS, *(rng.choice(_LEVELS) for _ in range(5))], words(rng, 8), strict=True)
    ]
    rng.shuffle(rows)
    files = {"app.log": text(rows[:4]), "web.log": text(rows[4:])}
    counts = Counter(row.split()[1] for row in rows)
    report = text([f"{level} {counts[level]}" for level in sorted(counts)])
    request = (
        "The second word of each line of app.log and web.log is its level. Write report.txt with each level and how "
        "often it occurs in both, such as 'error 2', sorted by level; pack both logs into logs.tar.gz; delete the logs"
    )
    command = (
        "cat app.log web.log | awk '{ n[$2]++ } END { for (l in n) print l, n[l] }' | sort > report.txt; "
        "tar -czf logs.tar.gz app.log web.log; rm app.log web.log"
    )
    checks: list[Check] = [_file("report.txt", report), _file("app.log", None), _file("web.log", None)]
    checks.append(ProgramCheck(command="tar -xOzf logs.tar.gz app.log web.log", expected="".join(files.values())))
    if difficulty > 4:
        worst = text(sorted(row.split()[2] for row in rows if row.split()[1] == "error"))
        request += ". First, write the third words of all error lines to errors.txt, sorted"
        command = f"awk '$2 == \"error\" {{ print $3 }}' app.log web.log | sort > errors.txt; {command}"
        checks.append(_file("errors.txt", worst))
    return Instance(f"{request}.", command, tuple(checks), files)


@family(SHELL, "release")
def release(rng: random.Random, difficulty: int) -> Instance:
    old, new = (f"{rng.randint(1, 9)}.{rng.randint(0, 9)}.{n}" for n in (rng.randint(0, 4), rng.randint(5, 9)))
    word, *others = words(rng, 4)
    program = text([f"# {others[0]}", f'version = "{old}"', f"print('{others[1]}')"])
    changes = f"{old}: {others[2]}\n"
    files = {"app.py": program, "changes.txt": changes}
    bumped, longer = program.replace(old, new), f"{new}: {word}\n{changes}"
    request = (
        f"Make release {new}: set the version in app.py from {old} to {new}, put the line '{new}: {word}' first in "
        f"changes.txt, and pack both files into release-{new}.tar.gz"
    )
    command = (
        f"sed -i 's/{old}/{new}/' app.py; sed -i '1i {new}: {word}' changes.txt; "
        f"tar -czf release-{new}.tar.gz app.py changes.txt"
    )
    checks: list[Check] = [_file("app.py", bumped), _file("changes.txt", longer)]
    checks.append(ProgramCheck(command=f"tar -xOzf release-{new}.tar.gz app.py changes.txt", expected=bumped + longer))
    if difficulty > 4:
        request += ". Then write sums.txt as sha256sum prints it for app.py and changes.txt"
        command += "; sha256sum app.py changes.txt > sums.txt"
        sums = [
            f"{hashlib.sha256(body.encode()).hexdigest()}  {name}"
            for name, body in (("app.py", bumped), ("changes.txt", longer))
        ]
        checks.append(_file("sums.txt", text(sums)))
    return Instance(f"{request}.", command, tuple(checks), files)


@family(SHELL, "clean_table")
def clean_table(rng: random.Random, difficulty: int) -> Instance:
    people = rng.sample(NAMES, 4)
    rows = [f"{name},{rng.randint(2, 99)}" for name in people]
    dirty = [*rows, rows[0], f"{people[1]},", ""]
    rng.shuffle(dirty)
    files = {"raw.csv": text(["name,points", *dirty])}
    clean = text(["name,points", *sorted(rows)])
    total = sum(int(row.split(",")[1]) for row in rows)
    request = (
        "Make clean.csv from raw.csv: the header first, then its lines in sorted order without empty lines, lines "
        "without points, and repeats. Write the sum of the points of clean.csv to total.txt"
    )
    command = (
        "{ head -n 1 raw.csv; tail -n +2 raw.csv | grep -E '^[^,]+,[0-9]+$' | LC_ALL=C sort -u; } > clean.csv; "
        "awk -F, 'NR > 1 { s += $2 } END { print s }' clean.csv > total.txt"
    )
    checks: list[Check] = [_file("clean.csv", clean), _file("total.txt", str(total)), *kept(files)]
    if difficulty > 4:
        request += ". Write summary.json with the keys rows (lines of clean.csv without the header) and total"
        command += (
            '; echo "{\\"rows\\": $(tail -n +2 clean.csv | wc -l), \\"total\\": $(cat total.txt)}" > summary.json'
        )
        look = "python3 -I -c \"import json; d = json.load(open('summary.json')); print(d['rows'], d['total'])\""
        checks.append(ProgramCheck(command=look, expected=f"{len(rows)} {total}"))
    return Instance(f"{request}.", command, tuple(checks), files)


@family(SHELL, "backup")
def backup(rng: random.Random, difficulty: int) -> Instance:
    first, second, other = names(rng, 3)
    files = {f"docs/{first}": text(words(rng, 3)), f"docs/{second}": text(words(rng, 2)), other: text(words(rng, 2))}
    inside = [f"docs/{name}" for name in sorted((first, second))]
    request = (
        "Pack the folder docs into backup.tar.gz, write the paths of the files in it to listing.txt in sorted order "
        "(no folders), then empty every file in docs without deleting it"
    )
    command = (
        "tar -czf backup.tar.gz docs; tar -tzf backup.tar.gz | grep -v '/$' | LC_ALL=C sort > listing.txt; "
        "for f in docs/*; do : > $f; done"
    )
    checks: list[Check] = [_file("listing.txt", text(inside)), _file(other, files[other])]
    checks += [_file(path, "") for path in inside]
    look = "; ".join(f"tar -xOzf backup.tar.gz {path}" for path in inside)  # one by one: the archive has its own order
    checks.append(ProgramCheck(command=look, expected="".join(files[path] for path in inside)))
    if difficulty > 4:
        request += ". Let only its owner read and write backup.tar.gz, and write its size in bytes to size.txt"
        command += "; chmod 600 backup.tar.gz; stat -c %s backup.tar.gz > size.txt"
        look = "stat -c %a backup.tar.gz; [ $(cat size.txt) = $(stat -c %s backup.tar.gz) ] && echo same"
        checks.append(ProgramCheck(command=look, expected="600\nsame\n"))
    return Instance(f"{request}.", command, tuple(checks), files)


@family(SHELL, "database_report")
def database_report(rng: random.Random, difficulty: int) -> Instance:
    people = rng.sample(NAMES, 3)
    buys = [(rng.choice(people), rng.randint(2, 60)) for _ in range(5)] + [(person, 5) for person in people]
    cities = dict(zip(people, ("oslo", "rome", "oslo"), strict=True))
    files = {
        "people.csv": text(["name,city", *(f"{name},{cities[name]}" for name in people)]),
        "buys.csv": text(["name,price", *(f"{name},{price}" for name, price in buys)]),
    }
    totals: Counter[str] = Counter()
    for name, price in buys:
        totals[cities[name]] += price
    request = (
        "Load people.csv and buys.csv into the tables people and buys of shop.db, and write to report.csv, without a "
        "header, each city and the sum of the prices of its people's buys (city,sum), ordered by city"
    )
    query = "select city, sum(price) from buys join people using (name) group by city order by city"
    command = (
        "sqlite3 shop.db '.import --csv people.csv people' '.import --csv buys.csv buys'; "
        f"sqlite3 -separator , shop.db '{query}' > report.csv"
    )
    report = text([f"{city},{totals[city]}" for city in sorted(totals)])
    checks: list[Check] = [_file("report.csv", report), *kept(files)]
    checks.append(ProgramCheck(command=f"sqlite3 shop.db '{query}'", expected=report.replace(",", "|")))
    if difficulty > 4:
        most = max(sorted(totals), key=lambda city: totals[city])
        request += ". Write the city with the largest sum to best.txt"
        command += "; sort -t, -k2,2nr report.csv | head -n 1 | cut -d, -f1 > best.txt"
        checks.append(_file("best.txt", most))
        if len(set(totals.values())) < len(totals):
            return database_report(rng, difficulty)
    return Instance(f"{request}.", command, tuple(checks), files)


@family(SHELL, "branch_release")
def branch_release(rng: random.Random, difficulty: int) -> Instance:
    word, fix, line = words(rng, 3)
    tag = f"v{rng.randint(1, 9)}.{rng.randint(0, 9)}"
    setup = (
        "git init -q -b main; git config user.name nobody; git config user.email nobody@example.org; "
        f"echo {word} > app.txt; git add -A; git commit -qm begin; git checkout -q -b fix-{fix}; "
        f"echo {line} >> app.txt; git commit -qam 'fix {fix}'; git checkout -q main"
    )
    request = (
        f"Merge the git branch fix-{fix} into main, delete that branch, tag the result {tag}, and write the files of "
        f"that tag into {tag}.tar.gz"
    )
    command = f"git merge -q fix-{fix}; git branch -q -d fix-{fix}; git tag {tag}; git archive -o {tag}.tar.gz {tag}"
    body = f"{word}\n{line}\n"
    checks: list[Check] = [
        ProgramCheck(command=f"git show main:app.txt; git show {tag}:app.txt", expected=body + body),
        ProgramCheck(command="git branch --format='%(refname:short)'", expected="main"),
        ProgramCheck(command=f"tar -xOzf {tag}.tar.gz app.txt", expected=body),
    ]
    if difficulty > 4:
        request += ". Write the messages of all commits of main to log.txt, oldest first"
        command += "; git log --reverse --format=%s > log.txt"
        checks.append(_file("log.txt", f"begin\nfix {fix}\n"))
    return Instance(f"{request}.", command, tuple(checks), {}, setup)


@family(SHELL, "settings_files")
def settings_files(rng: random.Random, difficulty: int) -> Instance:
    keys, values = words(rng, 3), words(rng, 4)
    base = dict(zip(keys, values, strict=False))
    files = {"base.json": json.dumps(base) + "\n", "change.txt": f"{keys[1]}={values[3]}\n"}
    merged = {**base, keys[1]: values[3]}
    request = (
        "change.txt holds a line key=value. Write merged.json: base.json with that key changed. Write settings.env: a "
        "line KEY=value for each key of merged.json, keys in capitals, in sorted order, readable by its owner alone"
    )
    command = (
        "python3 -c \"import json; d = json.load(open('base.json')); "
        "k, v = open('change.txt').read().strip().split('='); "
        "d[k] = v; json.dump(d, open('merged.json', 'w')); "
        "open('settings.env', 'w').writelines(sorted(f'{k.upper()}={v}\\n' for k, v in d.items()))\"; "
        "chmod 600 settings.env"
    )
    env = text(sorted(f"{key.upper()}={value}" for key, value in merged.items()))
    look = "python3 -I -c \"import json; print(json.dumps(json.load(open('merged.json')), sort_keys=True))\""
    checks: list[Check] = [FileCheck(path="settings.env", content=env, mode=0o600), *kept(files)]
    checks.append(ProgramCheck(command=look, expected=json.dumps(merged, sort_keys=True)))
    if difficulty > 4:
        request += ". Write diff.txt with the lines of settings.env whose value is not that of base.json"
        command += f"; grep -i '^{keys[1]}=' settings.env > diff.txt"
        checks.append(_file("diff.txt", f"{keys[1].upper()}={values[3]}"))
    return Instance(f"{request}.", command, tuple(checks), files)
