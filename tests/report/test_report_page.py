import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_sample import HOSTILE, sample

from rsi.report.page import loci_of, render
from rsi.report.pictures import INK, thinned
from rsi.types import CoveragePoint, Discovery, Expansion, Update, Verdict


@pytest.fixture(scope="module")
def page() -> str:
    return render(sample())


class Outline(HTMLParser):
    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_reaches_for_nothing(page: str):
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert not {tag for tag, _ in outline.tags} & {"script", "link", "iframe", "img", "object", "base"}
    for _, attributes in outline.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "href", "xlink:href") or str(value).startswith("#")
    assert "default-src 'none'" in page
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_hostile_text_is_escaped_wherever_it_stands(page: str):
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;alert") >= 5


def test_figures_carry_n_interval_and_what_they_are(page: str):
    flat = " ".join(page.split())
    assert "5% [2, 14] n=60" in flat  # 3 of 60, unseen instances
    assert "8% [3, 20] n=40" in flat  # 3 of 40, unseen families
    assert "+17 pp [+8, +25] n=80" in flat
    assert "adaptive" in flat
    assert "At equal budget, 60 attempts: search 5 of 24 in 60 attempts" in flat
    assert "retry control (the champion alone) 1 of 24 in 60 attempts" in flat
    assert "0 → 5 of 8" in flat
    assert "submitted 40, accepted 30, filtered 9, failed 1" in flat
    assert 'class="n no">21</td>' in flat  # over its budget


def test_pictures_are_there_take_the_pages_colour_and_are_reproducible(page: str):
    assert page.count("<svg") == 4
    assert "currentColor" in page
    assert INK not in page
    assert render(sample()) == page


def test_a_generation_in_which_nothing_happened_renders():
    data = sample()
    nothing = data.last.model_copy(
        update={
            "candidate": data.last.champion,
            "discovery": Discovery(tasks=(), draws=4, passes={}, fails=(), band=(), solved=(), proposed=0),
            "expansion": Expansion(document=data.last.champion.document, trials=()),
            "update": Update(adapter=None, reason="no informative group"),
            "verdict": Verdict(
                decision="reject", look="", clauses=(), rates={}, two_by_two={}, reasons=("nothing changed",)
            ),
            "look": None,
        }
    )
    page = render(data.model_copy(update={"generations": (nothing,), "budget": (), "places": {}, "settings": {}}))
    assert "nothing changed" in page
    assert "no informative group" in page
    assert "No difference." in page


def test_loci_are_counted_by_status():
    assert loci_of(sample().last.expansion) == [("model", 6, 0), ("configuration", 9, 9)]


def test_a_thinned_curve_keeps_its_ends():
    points = [CoveragePoint(attempts=i, passes=0, covered=0) for i in range(100)]
    few = thinned(points)
    assert len(few) <= 13
    assert (few[0], few[-1]) == (points[0], points[-1])
    assert thinned([]) == []
    assert thinned(points[:1]) == points[:1]


@pytest.mark.browser
def test_it_opens_from_disk_in_a_browser_without_a_network(tmp_path: Path, page: str):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser on this machine")
    html = tmp_path / "report.html"
    html.write_text(page, encoding="utf8")
    offline = ["unshare", "-rn"] if shutil.which("unshare") else []
    command = [
        *offline,
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        html.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
    assert "Learning curve on the sealed split" in done.stdout
    assert done.stdout.count("<svg") == 4
    assert "<script" not in done.stdout
    assert HOSTILE not in done.stdout
