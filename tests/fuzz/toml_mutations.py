"""Mutations of committed TOML files: bytes, lines, and values, as people and strangers get them wrong."""

from pathlib import Path

from hypothesis import strategies as st

VALUES = st.one_of(
    st.sampled_from(
        [
            "-1",
            "0",
            "1e999",
            "nan",
            "true",
            "[]",
            "{}",
            '""',
            "'..'",
            '"/etc/passwd"',
            "1979-05-27",
            "[[1]]",
            "'\\u0000'",
        ]
    ),
    st.text(max_size=12).map(lambda text: '"' + text.replace("\\", "").replace('"', "") + '"'),
    st.integers().map(str),
)
STEP = st.tuples(
    st.sampled_from(["drop", "twice", "value", "cut", "splice", "swap", "key"]), st.integers(0, 10_000), VALUES
)


def texts(paths: list[Path]) -> st.SearchStrategy[str]:
    """A committed file after one to four mutations."""
    sources = [path.read_text(encoding="utf8") for path in paths]
    return st.builds(_mutate, st.sampled_from(sources), st.lists(STEP, min_size=1, max_size=4))


def _mutate(text: str, steps: list[tuple[str, int, str]]) -> str:
    for kind, at, value in steps:
        lines = text.splitlines(keepends=True) or ["\n"]
        here = at % len(lines)
        key, equals, _ = lines[here].partition("=")
        match kind:
            case "drop":
                lines.pop(here)
            case "twice":
                lines.insert(here, lines[here])
            case "value":
                lines[here] = f"{key}= {value}\n" if equals else lines[here]
            case "key":
                lines[here] = f"{value} ={lines[here].partition('=')[2]}" if equals else f"[{value}]\n"
            case "swap":
                lines[here], lines[-1] = lines[-1], lines[here]
            case "cut":
                lines = ["".join(lines)[: at * 7 % (len(text) + 1)]]
            case "splice":
                place = at * 13 % (len(text) + 1)
                lines = [text[:place], value, text[place:]]
        text = "".join(lines)
    return text
