"""A component, compiled and driven in a real browser inside a sandbox."""

import os
from pathlib import Path

import pytest

from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.sandbox.host import Limits
from rsi.verify.ui.drive import drive

pytestmark = pytest.mark.browser
LIMITS = Limits(memory=1 << 46, processes=4096)
COUNTER = """
export default function mount(root: HTMLElement, host: any) {
  let n = 3; const out = <output id="n">3</output>; const name = <input id="name"/>;
  root.append(<button id="up" onclick={() => { n++; out.textContent = String(n); }}>Up</button>, out, name,
    <button id="send" onclick={() => host.toModel({ name: (name as any).value })}>Send</button>);
}
"""
STEPS = [
    {"do": "click", "at": "#up"},
    {"do": "read", "at": "#n"},
    {"do": "type", "at": "#name", "text": "Ada"},
    {"do": "click", "at": "#send"},
    {"do": "click", "at": "#absent"},
]


@pytest.fixture
def esbuild() -> bytes:
    place = Path(os.environ.get("RSI_ESBUILD", ""))
    if not place.is_file() or not Path("/usr/lib/chromium/chromium").exists():
        pytest.skip("RSI_ESBUILD does not name an esbuild binary, or Chromium is not installed")
    return place.read_bytes()


async def test_what_a_component_does_is_seen_at_both_widths(esbuild: bytes) -> None:
    views = await drive(Bubblewrap(LIMITS), esbuild, COUNTER, STEPS)
    assert not isinstance(views, str), views
    assert [view.width for view in views] == [360, 1024]
    for view in views:
        assert view.seen == (True, "4", True, True, False)
        assert view.to_model == ('{"name":"Ada"}',)
        assert view.widest <= view.width and not view.requests and not view.errors


async def test_overflow_errors_and_requests_are_seen(esbuild: bytes) -> None:
    wide = "root.style.cssText='width:700px;height:9px'; "
    code = "export default (root) => { " + wide + "fetch('http://a.test/'); throw Error('x') }"
    views = await drive(Bubblewrap(LIMITS), esbuild, code, [])
    assert not isinstance(views, str), views
    assert [view.widest > view.width for view in views] == [True, False]
    assert all(view.requests and view.errors for view in views)


async def test_code_that_does_not_compile_is_said_so(esbuild: bytes) -> None:
    told = await drive(Bubblewrap(LIMITS), esbuild, "make me a counter", [])
    assert isinstance(told, str) and told.startswith("does not compile")
