"""`rsi bank new`: a folder that is a bank, whose tasks prove themselves as they are."""

import re
from pathlib import Path

from rsi.errors import UserError

TEMPLATE = Path(__file__).parent / "template"
FILES = (
    "bank.toml",
    "generator.py",
    "catalogue.toml",
    "harness/bare.toml",
    "harness/default.toml",
    "run.toml",
)


def scaffold(name: str, folder: Path) -> list[Path]:
    """Write the bank `name` into `folder`, which must be new or empty. Returns the files. UserError for a bad name or a
    folder that holds something."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,40}", name):
        raise UserError(f"'{name}' is no name of a bank: use small letters, digits, - and _, beginning with a letter")
    if not str(folder).isprintable() or '"' in str(folder) or "\\" in str(folder):
        raise UserError(f"{folder}: holds a quote, backslash or unprintable character; name another folder")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there already; name another folder, or empty it")
    lineage = name.replace("_", "-")
    written = []
    for file in FILES:
        text = (TEMPLATE / file).read_text(encoding="utf8")
        text = text.replace('name = "mine"', f'name = "{name}"').replace('lineage = "mine"', f'lineage = "{lineage}"')
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("FOLDER", str(folder)), encoding="utf8", newline="\n")
        written.append(path)
    return written
