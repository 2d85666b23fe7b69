"""A component that tries to reach anything is seen to, by whatever way; and one that reaches nothing is not."""

import json
from pathlib import Path

import pytest

from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.verify.ui.drive import View, drive
from rsi.verify.ui.inside.main import read_network_log
from rsi.wiring.browser import LIMITS

WORKER = "new Worker(URL.createObjectURL(new Blob([`CODE`])))"
LINK = "{ const l = document.createElement('link'); l.rel = 'REL'; l.href = 'https://HOST/'; document.head.append(l); }"
WAYS = {
    "fetch": "fetch('https://HOST/').catch(() => 0)",
    "XHR": "{ const x = new XMLHttpRequest(); x.open('GET', 'https://HOST/'); x.send(); }",
    "beacon": "navigator.sendBeacon('https://HOST/')",
    "events": "new EventSource('https://HOST/')",
    "WebSocket": "new WebSocket('wss://HOST/')",
    "WebTransport": "new WebTransport('https://HOST/').ready.catch(() => 0)",
    "preconnect": LINK.replace("REL", "preconnect"),
    "preconnect, taken away at once": LINK.replace("REL", "preconnect").replace("; }", "; l.remove(); }"),
    "preconnect in a closed tree": "{ const s = document.createElement('p'); root.append(s); s.attachShadow({ mode: "
    "'closed' }).innerHTML = '<link rel=preconnect href=https://HOST/>'; }",
    "dns-prefetch": LINK.replace("REL", "dns-prefetch"),
    "prefetch": LINK.replace("REL", "prefetch"),
    "prerender": LINK.replace("REL", "prerender"),
    "modulepreload": LINK.replace("REL", "modulepreload"),
    "style sheet": LINK.replace("REL", "stylesheet"),
    "image": "new Image().src = 'https://HOST/'",
    "@import": "add('<style>@import url(https://HOST/);</style>')",
    "url()": "add('<p style=\"background:url(https://HOST/)\">a</p>')",
    "font": "new FontFace('a', 'url(https://HOST/)').load().catch(() => 0)",
    "poster": "add('<video poster=https://HOST/>')",
    "frame": "add('<iframe src=https://HOST/></iframe>')",
    "object": "add('<object data=https://HOST/></object>')",
    "form into a frame": "{ add('<iframe name=z></iframe><form id=f action=https://HOST/ target=z></form>'); "
    "root.querySelector('#f').submit(); }",
    "ping": "{ const a = document.createElement('a'); a.href = '#'; a.ping = 'https://HOST/'; a.click() }",
    "worker": WORKER.replace("CODE", "fetch('https://HOST/')"),
    "WebSocket in a worker": WORKER.replace("CODE", "new WebSocket('wss://HOST/')"),
    "import()": "import('https://HOST/a.js').catch(() => 0)",
    "late": "setTimeout(() => new WebSocket('wss://HOST/'), 40000)",
}
WATCHED = {
    "RTCPeerConnection": "add('<iframe srcdoc=\"<script>new RTCPeerConnection()</script>\"></iframe>')",
    "SharedWorker": "new SharedWorker(URL.createObjectURL(new Blob(['1'])))",
    "file:///task/job.json": "fetch('file:///task/job.json').catch(() => 0)",
    "speculation rules": "{ const s = document.createElement('script'); s.type = 'speculationrules'; "
    "s.textContent = '{\"prefetch\": []}'; document.head.append(s); }",
}
LEAVING = {
    "another place": "location = 'https://a.test/'",
    "another place later": "setTimeout(() => { location = 'https://a.test/' }, 5000)",
    "a window": "open('https://a.test/')",
    "a mail": "setTimeout(() => { location = 'mailto:a@a.test?body=1' }, 5000)",
}
REACHES_NOTHING = """
  add('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><a href="https://a.test/">a</a>');
  add('<iframe srcdoc="a"></iframe>');
  document.createElement('canvas').toBlob((blob) => { new Image().src = URL.createObjectURL(blob); });
  new Worker(URL.createObjectURL(new Blob(['postMessage(1)'])));
  add('<form id="f"><button>Go</button></form><a id="top" href="#top">Up</a><a id="no" href="javascript:void 0">-</a>');
  root.querySelector('#f').onsubmit = (event) => event.preventDefault();
  for (const at of ['#f button', '#top', '#no']) root.querySelector(at).click();
  alert(typeof RTCPeerConnection);
"""


async def observe(esbuild: Path, script: str) -> tuple[View, ...] | str:
    add = "const add = (html) => root.insertAdjacentHTML('beforeend', html);"
    runs = await drive(
        Bubblewrap(LIMITS), esbuild.read_bytes(), f"export default (root, host) => {{ {add} {script} }}", []
    )
    return runs if isinstance(runs, str) else runs[0]


@pytest.mark.browser
async def test_every_way_is_seen(esbuild: Path) -> None:
    hosts = {way: f"w{n}.test" for n, way in enumerate(WAYS)}
    script = ";\n".join(code.replace("HOST", hosts[way]) for way, code in WAYS.items())
    views = await observe(esbuild, f"{script};\n" + ";\n".join(WATCHED.values()))
    assert not isinstance(views, str), views
    for view in views:
        told = "\n".join(view.requests)
        assert not [way for way, host in hosts.items() if host not in told]
        assert not [name for name in WATCHED if name not in told]


@pytest.mark.browser
@pytest.mark.parametrize("way", LEAVING)
async def test_leaving_is_seen(esbuild: Path, way: str) -> None:
    views = await observe(esbuild, LEAVING[way])
    assert "goes elsewhere" in views if isinstance(views, str) else all(view.requests for view in views)


@pytest.mark.browser
async def test_what_reaches_nothing_is_left_alone(esbuild: Path) -> None:
    views = await observe(esbuild, REACHES_NOTHING)
    assert not isinstance(views, str), views
    assert not [view for view in views if view.requests or view.errors]


@pytest.mark.browser
@pytest.mark.parametrize(
    "script", ["for (;;);", "for (;;) alert(1)", "Promise.resolve().then(function f() { for (;;); })"]
)
async def test_a_page_that_does_not_end_is_given_up(esbuild: Path, script: str) -> None:
    told = await observe(esbuild, script)
    assert isinstance(told, str) and told.startswith("could not be driven")


@pytest.mark.browser
async def test_a_page_that_lies_about_itself_is_read_as_it_is(esbuild: Path) -> None:
    lies = """
      add('<p id="n">no</p><form name="querySelector"></form><img name="fonts"><form name="body"></form>');
      Object.defineProperty(HTMLElement.prototype, "innerText", { get: () => "Tea 42" });
      for (const name of ["querySelector", "elementFromPoint", "createRange"]) Document.prototype[name] = () => root;
      Object.defineProperty(Element.prototype, "getBoundingClientRect", { value: () => new DOMRect(0, 0, 9, 9) });
      globalThis.getComputedStyle = globalThis.Date = Array.prototype.map = Array.prototype.push = JSON.parse = null;
      globalThis.Promise = globalThis.requestAnimationFrame = globalThis.MutationObserver = globalThis.Intl = null;
    """
    code = f"export default (root) => {{ const add = (html) => {{ root.innerHTML = html; }}; {lies} }}"
    runs = await drive(Bubblewrap(LIMITS), esbuild.read_bytes(), code, [{"do": "read", "at": "#n"}])
    assert not isinstance(runs, str), runs
    assert [view.seen for view in runs[0]] == [("no",), ("no",)]


def test_the_log_tells_what_pages_asked_for_and_not_what_the_browser_did() -> None:
    ours = {"params": {"host": "https://a.test", "network_anonymization_key": "file:// [internally: file://]"}}
    its = {"params": {"host": "https://b.test", "network_anonymization_key": "null"}}
    lines = [json.dumps(event, separators=(",", ":")) + ",\n" for event in (ours, its, ours, {"params": {}})]
    assert read_network_log(iter(lines)) == ["https://a.test"]
