"""Components that keep a place or a number."""

import random

from rsi.banks.content import words
from rsi.banks.instance import Instance, family
from rsi.banks.ui.forms import LETTERS, UI, buttons, click, component, quoted, read, title


@family(UI, "counter")
def counter(rng: random.Random, difficulty: int) -> Instance:
    step = 1 if difficulty == 1 else rng.randint(2, 9)
    low = rng.randint(-9, 20)
    high = low + step * rng.randint(2, 3) + rng.randint(0, step - 1)
    value = start = low + rng.randint(0, step)
    name, steps = title(rng), [read("#value", start)]
    for press in ["up"] * 4 + ["down"] * rng.randint(1, 3 + difficulty):
        there = value + (step if press == "up" else -step)
        value = there if low <= there <= high else value
        steps += [click(f"#{press}"), read("#value", value)]
    told = (
        f"A counter with the title '{name}' in #title. #value shows a number, {start} at first. Button #up adds {step} "
        f"and button #down takes {step} away. A press that would lead below {low} or above {high} changes nothing."
    )
    data = {"title": name, "n": start, "step": step, "low": low, "high": high}
    html = '<h2 id="title">${d.title}</h2><button id="down">-</button><p id="value"></p><button id="up">+</button>'
    script = """
const by = (k) => { if (d.n + k >= d.low && d.n + k <= d.high) d.n += k; $("value").textContent = d.n; };
$("up").onclick = () => by(d.step);
$("down").onclick = () => by(-d.step);
by(0);
"""
    return component(told, data, html, script, [read("#title", name), *steps])


@family(UI, "stepper")
def stepper(rng: random.Random, difficulty: int) -> Instance:
    names, at = words(rng, 3 + difficulty), 0
    steps = [read("#name", names[0]), read("#place", f"1/{len(names)}")]
    presses = ["back"] + ["next"] * rng.randint(2, len(names) + 1) + ["back"] * rng.randint(0, 2)
    for press in presses:
        at = min(max(at + (1 if press == "next" else -1), 0), len(names) - 1)
        steps += [click(f"#{press}"), read("#name", names[at])]
    steps.append(read("#place", f"{at + 1}/{len(names)}"))
    told = (
        f"A stepper through {quoted(names)}. #name shows where it stands (the first one at first) and #place the same "
        f"as a number of all in the form '1/{len(names)}'. Button #next goes on and button #back goes back. At either "
        "end a press that leads beyond it changes nothing."
    )
    html = '<p id="name"></p><p id="place"></p><button id="back">Back</button><button id="next">Next</button>'
    script = """
let at = 0;
const go = (k) => {
  at = Math.min(Math.max(at + k, 0), d.names.length - 1);
  $("name").textContent = d.names[at];
  $("place").textContent = `${at + 1}/${d.names.length}`;
};
$("back").onclick = () => go(-1);
$("next").onclick = () => go(1);
go(0);
"""
    return component(told, {"names": names}, html, script, steps)


@family(UI, "rating")
def rating(rng: random.Random, difficulty: int) -> Instance:
    most, (about, none, unit) = 3 + difficulty, words(rng, 3)
    chosen = rng.sample(range(1, most + 1), 2)
    steps = [read("#shown", none)]
    for stars in chosen:
        steps += [click(f"#star-{LETTERS[stars - 1]}"), read("#shown", f"{stars} {unit}")]
    steps.append(click("#send"))
    told = (
        f"A rating of '{about}'. Buttons #star-a to #star-{LETTERS[most - 1]} stand for the numbers 1 to {most}. "
        f"#shown shows '{none}' at first and after a press the number and '{unit}' with a space between them. Button "
        f"#send calls `host.toModel` with an object whose field `about` is '{about}' and whose field `stars` is the "
        "number."
    )
    html = f'{buttons("star", most)}<p id="shown">${{d.none}}</p><button id="send">Send</button>'
    script = """
let stars = 0;
[...root.querySelectorAll("[id^=star-]")].forEach((button, i) => {
  button.textContent = i + 1;
  button.onclick = () => { stars = i + 1; $("shown").textContent = `${stars} ${d.unit}`; };
});
$("send").onclick = () => host.toModel({ about: d.about, stars });
"""
    data = {"about": about, "none": none, "unit": unit}
    return component(told, data, html, script, steps, sent=(about, f'"stars":{chosen[-1]}'))


@family(UI, "pagination")
def pagination(rng: random.Random, difficulty: int) -> Instance:
    size, items = rng.randint(2, 3), words(rng, rng.randint(4, 5) + difficulty)
    pages = [items[n : n + size] for n in range(0, len(items), size)]
    at, steps = 0, [read("#page", f"1 of {len(pages)}"), read("#list", "\n".join(pages[0]))]
    for press in ["next"] * rng.randint(1, len(pages)) + ["previous"] * rng.randint(1, 2):
        at = min(max(at + (1 if press == "next" else -1), 0), len(pages) - 1)
        steps += [click(f"#{press}"), read("#page", f"{at + 1} of {len(pages)}"), read("#list", "\n".join(pages[at]))]
    told = (
        f"A list in pages of {size} items: {quoted(items)}. The ul #list holds the items of one page as li in this "
        f"order. #page shows which page it is in the form '1 of {len(pages)}'. Buttons #next and #previous turn the "
        "page. At either end a press that leads beyond it changes nothing."
    )
    html = '<ul id="list"></ul><p id="page"></p><button id="previous">Previous</button><button id="next">Next</button>'
    script = """
let at = 0;
const last = Math.ceil(d.items.length / d.size) - 1;
const go = (k) => {
  at = Math.min(Math.max(at + k, 0), last);
  $("list").innerHTML = d.items.slice(at * d.size, (at + 1) * d.size).map((item) => `<li>${item}</li>`).join("");
  $("page").textContent = `${at + 1} of ${last + 1}`;
};
$("previous").onclick = () => go(-1);
$("next").onclick = () => go(1);
go(0);
"""
    return component(told, {"items": items, "size": size}, html, script, steps)
