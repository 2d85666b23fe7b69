"""Visible means seen: what a person would not see is not there, however it is hidden; and what is seen counts."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.verify.ui.drive import View, drive
from rsi.wiring.browser import LIMITS

pytestmark = pytest.mark.browser

# Markup in which a text is said to be there and not seen, or shown. ID stands for the element's id.
HIDDEN = {
    "not displayed": '<p id="ID" style="display:none">Tea 42</p>',
    "the hidden attribute": '<p id="ID" hidden>Tea 42</p>',
    "invisible": '<p id="ID" style="visibility:hidden">Tea 42</p>',
    "no opacity": '<p id="ID" style="opacity:0">Tea 42</p>',
    "no opacity above it": '<div style="opacity:.01"><p id="ID">Tea 42</p></div>',
    "the colour behind it": '<p id="ID" style="color:#fff;background:#fff">Tea 42</p>',
    "nearly that colour": '<p id="ID" style="color:#fdfdfd">Tea 42</p>',
    "too light a grey": '<p id="ID" style="color:#eee">Tea 42</p>',
    "black on a black picture": '<p id="ID" style="background:linear-gradient(#000,#000)">Tea 42</p>',
    "its own colour as background": '<p id="ID" style="color:#333;background:currentColor">Tea 42</p>',
    "transparent": '<p id="ID" style="color:transparent">Tea 42</p>',
    "no fill": '<p id="ID" style="-webkit-text-fill-color:transparent">Tea 42</p>',
    "size 0": '<p id="ID" style="font-size:0">Tea 42</p>',
    "size 1": '<p id="ID" style="font-size:1px">Tea 42</p>',
    "indented away": '<p id="ID" style="text-indent:-9999px">Tea 42</p>',
    "left of the page": '<p id="ID" style="position:absolute;left:-9999px">Tea 42</p>',
    "above the page": '<p id="ID" style="position:absolute;top:-500px">Tea 42</p>',
    "fixed below the screen": '<p id="ID" style="position:fixed;top:2000px">Tea 42</p>',
    "moved away": '<p id="ID" style="transform:translateX(-2000px)">Tea 42</p>',
    "scaled to nothing": '<p id="ID" style="transform:scale(0)">Tea 42</p>',
    "scaled down": '<p id="ID" style="transform:scale(.05)">Tea 42</p>',
    "zoomed down": '<p id="ID" style="zoom:.05">Tea 42</p>',
    "turned edgewise": '<p id="ID" style="transform:rotateY(90deg)">Tea 42</p>',
    "turned its back": '<p id="ID" style="transform:rotateY(180deg);backface-visibility:hidden">Tea 42</p>',
    "mirrored": '<p id="ID" style="transform:scaleX(-1);width:80px">Tea 42</p>',
    "upside down": '<p id="ID" style="transform:rotate(180deg);width:80px">Tea 42</p>',
    "backwards": '<p id="ID" dir="rtl" style="unicode-bidi:bidi-override">Tea 42</p>',
    "all in one place": '<p id="ID" style="letter-spacing:-1em;padding-left:60px">Tea 42</p>',
    "words in another order": '<p id="ID" style="display:flex;flex-direction:row-reverse"><i>Tea </i><i>42</i></p>',
    "a path that clips all": '<p id="ID" style="clip-path:inset(50%)">Tea 42</p>',
    "a clip of nothing": '<p id="ID" style="position:absolute;clip:rect(0,0,0,0)">Tea 42</p>',
    "in a box of no height": '<div style="height:0;overflow:hidden"><p id="ID">Tea 42</p></div>',
    "below a box's end": '<div style="height:20px;overflow:hidden"><br><br><br><p id="ID">Tea 42</p></div>',
    "cut after a letter": '<p id="ID" style="width:12px;overflow:hidden;white-space:nowrap">Tea 42</p>',
    "no height of a line": '<p id="ID" style="line-height:0;overflow:hidden">Tea 42</p>',
    "covered": '<div style="position:relative"><p id="ID">Tea 42</p>'
    '<b style="position:absolute;inset:0;background:#fff"></b></div>',
    "behind": '<div style="position:relative;z-index:0"><p id="ID" style="position:relative;z-index:-1">Tea 42</p>'
    '<b style="position:absolute;inset:0;background:#fff"></b></div>',
    "in closed details": '<details><summary>More</summary><p id="ID">Tea 42</p></details>',
    "in a closed dialog": '<dialog><p id="ID">Tea 42</p></dialog>',
    "content not drawn": '<div style="content-visibility:hidden;height:30px"><p id="ID">Tea 42</p></div>',
    "a filter of no opacity": '<p id="ID" style="filter:opacity(0)">Tea 42</p>',
    "blurred": '<p id="ID" style="filter:blur(4px)">Tea 42</p>',
    "masked": '<p id="ID" style="mask-image:linear-gradient(transparent,transparent)">Tea 42</p>',
    "blended away": '<p id="ID" style="color:#fff;background:#fff;mix-blend-mode:multiply">Tea 42</p>',
    "half of it": '<p id="ID">Tea <span style="opacity:0">42</span></p>',
    "the first letter": '<style>#ID::first-letter{font-size:0}</style><p id="ID">Tea 42</p>',
    "more than it says": '<style>#ID::after{content:"7"}</style><p id="ID">Tea 42</p>',
    "a template": '<p id="ID"><template>Tea 42</template></p>',
    "under a shadow tree": '<p id="ID" data-shadow>Tea 42</p>',
    "fallback of a canvas": '<canvas id="ID">Tea 42</canvas>',
    "a value without a text": '<data id="ID" value="Tea 42"></data>',
    "a checkbox's value": '<input id="ID" type="checkbox" value="Tea 42">',
    "a hidden field": '<input id="ID" type="hidden" value="Tea 42">',
    "a field's text in its colour": '<input id="ID" value="Tea 42" style="color:#fff;background:#fff">',
    "a field without opacity": '<input id="ID" value="Tea 42" style="opacity:0">',
    "a field of size 1": '<input id="ID" value="Tea 42" style="font-size:1px">',
}

SHOWN = {
    "plain": '<p id="ID">Tea 42</p>',
    "light on dark": '<div style="background:#111"><p id="ID" style="color:#eee">Tea 42</p></div>',
    "grey": '<p id="ID" style="color:#999">Tea 42</p>',
    "half transparent": '<p id="ID" style="opacity:.5">Tea 42</p>',
    "small": '<p id="ID" style="font-size:9px">Tea 42</p>',
    "large": '<p id="ID" style="font-size:64px;margin:0">Tea 42</p>',
    "preformatted": '<pre id="ID" style="background:#222;color:#0f0">Tea 42</pre>',
    "a gradient as colour": '<h1 id="ID" style="background:linear-gradient(90deg,#e33,#33e);background-clip:text;'
    'color:transparent">Tea 42</h1>',
    "with a shadow": '<p id="ID" style="text-shadow:0 1px 2px #0006">Tea 42</p>',
    "heavy": '<h2 id="ID" style="font-weight:900;font-family:serif">Tea 42</h2>',
    "italic": '<p id="ID" style="font-style:italic">Tea 42</p>',
    "spaced": '<p id="ID" style="letter-spacing:.3em">Tea 42</p>',
    "tight": '<p id="ID" style="letter-spacing:-.05em">Tea 42</p>',
    "underlined": '<p id="ID" style="text-decoration:underline">Tea 42</p>',
    "struck through": '<p id="ID" style="text-decoration:line-through">Tea 42</p>',
    "capitals by style": '<p id="ID" style="text-transform:capitalize">tea 42</p>',
    "a little turned": '<p id="ID" style="transform:rotate(-3deg);width:80px">Tea 42</p>',
    "a button": '<button id="ID">Tea 42</button>',
    "a disabled button": '<button id="ID" disabled>Tea 42</button>',
    "a badge": '<span id="ID" style="background:#ff0;border-radius:9px;padding:2px 6px">Tea 42</span>',
    "in a row": '<div style="display:flex;gap:8px;justify-content:center"><p>a</p><p id="ID">Tea 42</p></div>',
    "in a grid": '<div style="display:grid;grid-template-columns:1fr 1fr"><p>a</p><p id="ID">Tea 42</p></div>',
    "in parts": '<p id="ID"><span>Tea</span> <b>42</b></p>',
    "a cell": '<table><tr><td id="ID" style="border:1px solid">Tea 42</td></tr></table>',
    "a field": '<input id="ID" value="Tea 42">',
    "a dark field": '<input id="ID" value="Tea 42" style="background:#000;color:#fff;border:0">',
    "a text area": '<textarea id="ID">Tea 42</textarea>',
    "a choice": '<select id="ID"><option>Tea 42</option></select>',
    "an output": '<output id="ID">Tea 42</output>',
    "a label for readers alone": '<p id="ID">Tea 42<span style="position:absolute;width:1px;height:1px;overflow:hidden;'
    'clip:rect(0,0,0,0);white-space:nowrap">in all</span></p>',
    "a label left of the page": '<p id="ID">Tea 42<span style="position:absolute;left:-9999px">in all</span></p>',
    "to be scrolled to": '<div style="height:40px;overflow:auto"><br><br><br><br><p id="ID">Tea 42</p></div>',
    "far down": '<div style="height:1500px"></div><p id="ID">Tea 42</p>',
    "changing by and by": '<p id="ID" style="transition:all .5s">Tea 42</p>',
    "fading in": '<style>@keyframes in{from{opacity:0}}</style><p id="ID" style="animation:in .6s both">Tea 42</p>',
    "pulsing": '<style>@keyframes on{50%{opacity:.2}}</style><p id="ID" style="animation:on 1s infinite">Tea 42</p>',
    "in open details": '<details open><summary>More</summary><p id="ID">Tea 42</p></details>',
    "in an open dialog": '<dialog open style="position:static"><p id="ID">Tea 42</p></dialog>',
    "on a pattern": '<p id="ID" style="background:repeating-linear-gradient(45deg,#fff,#eee 9px)">Tea 42</p>',
    "with a bullet": '<style>#ID::before{content:"\\2022 "}</style><p id="ID">Tea 42</p>',
    "with room for more": '<p id="ID" style="overflow:hidden;text-overflow:ellipsis;width:200px">Tea 42</p>',
    "under a veil": '<div style="position:relative"><p id="ID">Tea 42</p>'
    '<b style="position:absolute;inset:0;pointer-events:none;background:#fff3"></b></div>',
    "on glass": '<div style="background:#234"><p id="ID" style="background:#fff2;color:#fff;backdrop-filter:blur(4px)">'
    "Tea 42</p></div>",
    "with a narrow line": '<p id="ID" style="line-height:1;border:1px solid">Tea 42</p>',
    "drawn": '<svg width="90" height="30"><text id="ID" y="20">Tea 42</text></svg>',
}


async def look(esbuild: Path, code: str, steps: list[dict[str, str]]) -> tuple[View, ...]:
    runs = await drive(Bubblewrap(LIMITS), esbuild.read_bytes(), code, steps)
    assert not isinstance(runs, str), runs
    return runs[0]


async def read(esbuild: Path, cases: Mapping[str, str]) -> dict[str, set[object]]:
    """What is seen of each case, all of them on one page, at both widths."""
    html = "\n".join(f"<div>{case.replace('ID', f'n{n}')}</div>" for n, case in enumerate(cases.values()))
    code = f"""export default (root) => {{
      root.innerHTML = {json.dumps(html)};
      for (const e of root.querySelectorAll("[data-shadow]")) e.attachShadow({{ mode: "closed" }});
    }}"""
    views = await look(esbuild, code, [{"do": "read", "at": f"#n{n}"} for n in range(len(cases))])
    return {case: {view.seen[n] for view in views} for n, case in enumerate(cases)}


@pytest.mark.parametrize("part", range(4))
async def test_hidden_text_is_not_read(esbuild: Path, part: int) -> None:
    names = list(HIDDEN)[part::4]
    told = await read(esbuild, {name: HIDDEN[name] for name in names})
    assert not [name for name in names if "Tea 42" in told[name]]


async def test_shown_text_is_read(esbuild: Path) -> None:
    told = await read(esbuild, SHOWN)
    assert not {name: seen for name, seen in told.items() if seen != {"Tea 42"}}


UNUSABLE = {
    "no opacity": '<button id="ID" style="opacity:0">Go</button>',
    "off the page": '<button id="ID" style="position:absolute;left:-999px">Go</button>',
    "covered": '<p style="position:relative"><button id="ID">Go</button>'
    '<b style="position:absolute;inset:0;background:#fff"></b></p>',
    "all in the colour behind it": '<button id="ID" style="all:unset;color:#fff;background:#fff">Go</button>',
    "not displayed": '<button id="ID" hidden>Go</button>',
    "clipped": '<button id="ID" style="clip-path:inset(50%)">Go</button>',
}
USABLE = {
    "plain": '<button id="ID">Go</button>',
    "disabled": '<button id="ID" disabled>Go</button>',
    "bare": '<button id="ID" style="all:unset">Go</button>',
    "an icon": '<button id="ID"><svg width="16" height="16"><circle cx="8" cy="8" r="6"/></svg></button>',
    "a line": '<input id="ID" style="border:0;border-bottom:1px solid #bbb">',
    "a field": '<input id="ID" placeholder="Name">',
    "an item": '<ul><li id="ID">Tea</li></ul>',
    "far down": '<div style="height:1500px"></div><button id="ID">Go</button>',
    "in a box to scroll": '<div style="height:60px;overflow:auto"><br><br><br><br><button id="ID">Go</button></div>',
    "under a veil": '<p style="position:relative"><button id="ID">Go</button>'
    '<b style="position:absolute;inset:0;pointer-events:none;background:#fff3"></b></p>',
}


async def test_what_is_not_seen_cannot_be_clicked_and_what_is_seen_can(esbuild: Path) -> None:
    cases = {**UNUSABLE, **{f"shown: {name}": html for name, html in USABLE.items()}}
    html = "\n".join(f"<div>{case.replace('ID', f'n{n}')}</div>" for n, case in enumerate(cases.values()))
    code = f"export default (root) => {{ root.innerHTML = {json.dumps(html)}; }}"
    for view in await look(esbuild, code, [{"do": "click", "at": f"#n{n}"} for n in range(len(cases))]):
        assert not [name for name, used in zip(cases, view.seen, strict=True) if used != name.startswith("shown")]


async def test_honest_ways_of_doing_things_hold(esbuild: Path) -> None:
    code = """export default (root, host) => {
      root.innerHTML = `<style>.m{position:fixed;inset:0;background:#0008}
        .m p{background:#fff;margin:20% auto;width:90%}
        @media (max-width:500px){.row{flex-direction:column}}</style>
        <div class="row" style="display:flex"><input id="name">
        <button id="open">Open</button></div><output id="said"></output><ul id="list"></ul>`;
      const $ = (id) => root.querySelector("#" + id);
      let typed = "";
      $("name").addEventListener("keyup", (event) => { typed += event.key; $("said").textContent = typed; });
      $("list").innerHTML = ["a", "b"].map((x) => `<li>${x}</li>`).join("");
      $("open").onclick = () => {
        alert("Opening");
        root.insertAdjacentHTML("beforeend",
          `<div class="m"><p id="text">Are you sure? <button id="yes">Yes</button></p></div>`);
        $("yes").onclick = () => setTimeout(() => {
          root.querySelector(".m").remove(); $("open").disabled = true; host.toModel({ ok: 1 }); });
      };
    }"""
    steps = [{"do": "type", "at": "#name", "text": "Ada"}, {"do": "read", "at": "#said"}, {"do": "read", "at": "#name"}]
    steps += [{"do": "type", "at": "#name", "text": "m"}, {"do": "read", "at": "#name"}, {"do": "read", "at": "#list"}]
    steps += [{"do": "click", "at": "#open"}, {"do": "read", "at": "#text"}, {"do": "click", "at": "#yes"}]
    steps += [{"do": "read", "at": "#text"}, {"do": "click", "at": "#open"}]
    seen = (True, "Ada", "Ada", True, "Adam", "a\nb", True, "Are you sure? Yes", True, None, True)
    for view in await look(esbuild, code, steps):
        assert view.seen == seen and view.to_model == ('{"ok":1}',) and not view.requests and not view.errors
        assert view.leftmost == 0 and view.widest <= view.width
