import io

from report_sample import sample
from rich.console import Console

from rsi.report.terminal import show


def shown(terminal: bool, width: int = 100) -> str:
    out = io.StringIO()
    show(sample(), Console(file=out, force_terminal=terminal, width=width))
    return out.getvalue()


def test_without_a_terminal_it_is_plain():
    text = shown(False)
    assert "\x1b" not in text
    assert all(c.isascii() or c == "–" for c in text)


def test_it_says_for_each_generation_what_was_found_spent_and_earned():
    text = " ".join(shown(False).replace("|", " ").split())
    assert "Generation 1: promote" in text
    assert "Generation 2: reject" in text
    assert "sealed, unseen instances 5% [2, 14] n=60 23% [14, 35] n=60" in text
    assert "sealed, unseen families 8% [3, 20] n=40 35% [22, 50] n=40" in text
    assert "selection 0% [0, 7] n=48 25% [15, 39] n=48" in text
    assert "tasks discovered 24 screened 24 fail, 0 in the band" in text
    assert "coverage 1 of 24 in 60 attempts 18 of 24 in 300 attempts" in text
    assert "pooled pass rate 2% [0, 9] n=60 33% [28, 39] n=300" in text
    assert "at equal budget 1 of 24 in 60 attempts 5 of 24 in 60 attempts" in text
    assert "2x2: old weights, old harness 4% [1, 10] n=80" in text
    assert "effect: harness +17 pp [+8, +25] n=80" in text
    assert "2 3 lost InfrastructureError: status 503" in text and "2 5 refused the model's server" in text
    assert "minutes 21 (over) 20" in text
    assert "MLflow: rsi mlflow" in text
    assert "better: held: <script>" in text  # text, shown as text


def test_a_narrow_terminal_loses_no_figure():
    text = shown(True, width=60)
    assert "\x1b[31m" not in text.split("better: held:")[1].splitlines()[0]  # the reason's own escape code is gone
    assert "n=60" in text
