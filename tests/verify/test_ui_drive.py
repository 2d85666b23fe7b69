"""A component, compiled and driven in a real browser inside a sandbox."""

from pathlib import Path

import pytest

from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.verify.ui.drive import drive
from rsi.wiring.browser import LIMITS

pytestmark = pytest.mark.browser
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


async def test_what_a_component_does_is_seen_at_both_widths(esbuild: Path) -> None:
    runs = await drive(Bubblewrap(LIMITS), esbuild.read_bytes(), COUNTER, STEPS)
    assert not isinstance(runs, str), runs
    (views,) = runs
    assert [view.width for view in views] == [360, 1024]
    for view in views:
        assert view.seen == (True, "4", True, True, False)
        assert view.to_model == ('{"name":"Ada"}',)
        assert view.widest <= view.width and not view.requests and not view.errors


async def test_overflow_errors_and_requests_are_seen(esbuild: Path) -> None:
    wide = "root.style.cssText='width:700px;height:9px'; "
    code = "export default (root) => { " + wide + "fetch('http://a.test/'); throw Error('x') }"
    runs = await drive(Bubblewrap(LIMITS), esbuild.read_bytes(), code, [])
    assert not isinstance(runs, str), runs
    (views,) = runs
    assert [view.widest > view.width for view in views] == [True, False]
    assert all(view.requests and view.errors for view in views)


async def test_code_that_does_not_compile_is_said_so(esbuild: Path) -> None:
    told = await drive(Bubblewrap(LIMITS), esbuild.read_bytes(), "make me a counter", [])
    assert isinstance(told, str) and told.startswith("does not compile")


async def test_what_is_done_late_is_seen_in_every_run(esbuild: Path) -> None:
    code = """export default (root, host) => {
      root.innerHTML = `<p id="n">${performance.now() < 9000}</p>`;
      setTimeout(() => { host.toModel({ late: 1 }); fetch("http://a.test/"); }, 50000);
    }"""
    runs = await drive(Bubblewrap(LIMITS), esbuild.read_bytes(), code, [{"do": "read", "at": "#n"}], times=2)
    assert not isinstance(runs, str), runs
    assert len(runs) == 2
    for view in (view for views in runs for view in views):
        assert view.seen == ("true",) and view.to_model == ('{"late":1}',) and view.requests


async def test_a_component_that_takes_all_memory_ends_at_its_limit(esbuild: Path) -> None:
    code = "export default () => { const a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1)) }"
    runs = await drive(Bubblewrap(LIMITS), esbuild.read_bytes(), code, [])
    assert isinstance(runs, str) or all(view.errors for views in runs for view in views)
