"""Components over a list."""

import random

from rsi.banks.content import unsorted, words
from rsi.banks.instance import Instance, family
from rsi.banks.ui.forms import LETTERS, UI, buttons, click, component, quoted, read, title, typed
from rsi.types import UiStep


@family(UI, "sort_table")
def sort_table(rng: random.Random, difficulty: int) -> Instance:
    names = unsorted(rng, words(rng, 2 + difficulty + rng.randint(0, 1)) if difficulty > 1 else words(rng, 3))
    rows = list(zip(names, rng.sample(range(1, 100), len(names)), strict=True))
    steps, last = _shows(rows), ("", False)
    for press in rng.sample(["name", "price"], 2) + (["name", "name"] if difficulty > 1 else []):
        last = (press, difficulty > 1 and last == (press, False))
        shown = sorted(rows, key=lambda row: row[0] if press == "name" else row[1], reverse=last[1])
        steps += [click(f"#by-{press}"), *_shows(shown)]
    listed = ", ".join(f"'{name}' {price}" for name, price in rows)
    told = (
        f"A table of names and prices: {listed}. The tbody #rows has a "
        "tr for each with a td for the name and a td for the price. At first they stand in this order. Button #by-name "
        "sorts the rows by name and button #by-price by price as a number. Both sort upwards"
    )
    told += ". Each further press in a row of the same button reverses the order." if difficulty > 1 else "."
    html = (
        '<button id="by-name">Name</button><button id="by-price">Price</button><table><tbody id="rows"></tbody></table>'
    )
    script = """
let last = "", down = false;
const show = () => { $("rows").innerHTML = d.rows.map((r) => `<tr><td>${r[0]}</td><td>${r[1]}</td></tr>`).join(""); };
const by = (key, i) => {
  down = d.twice && last === key && !down;
  last = key;
  d.rows.sort((a, b) => (a[i] < b[i] ? -1 : 1) * (down ? -1 : 1));
  show();
};
$("by-name").onclick = () => by("name", 0);
$("by-price").onclick = () => by("price", 1);
show();
"""
    return component(told, {"rows": rows, "twice": difficulty > 1}, html, script, steps)


def _shows(rows: list[tuple[str, int]]) -> list[UiStep]:
    cell = "#rows tr:nth-child({}) td:nth-child({})"
    return [read(cell.format(n, c), row[c - 1]) for n, row in enumerate(rows, 1) for c in (1, 2)]


@family(UI, "todo")
def todo(rng: random.Random, difficulty: int) -> Instance:
    names, unit = words(rng, 4 + difficulty), title(rng)
    given, new = names[: 1 + difficulty], names[1 + difficulty :][:2]
    items, done = [*given], set[str]()
    steps = [read("#left", len(items))]
    for item in new:
        items.append(item)
        steps += [typed("#item", item), click("#add"), read("#item", ""), read("#left", len(items))]
    for item in rng.sample(items, 2):
        done.add(item)
        steps += [click(f"#list li:nth-child({items.index(item) + 1})"), read("#left", len(items) - len(done))]
    if difficulty > 1:
        steps += [click("#clear"), read("#list", "\n".join(item for item in items if item not in done))]
    told = (
        f"A list of things to do with the title '{unit}' in #title. The ul #list holds {quoted(given)} as li at first. "
        "Button #add appends the text of the input #item and empties it. A click on an li marks it as done and another "
        "click takes the mark back. #left shows how many are not done; it is a number alone"
    )
    told += ". Button #clear removes those that are done." if difficulty > 1 else "."
    html = (
        '<h2 id="title">${d.title}</h2><input id="item"><button id="add">Add</button><button id="clear">Clear</button>'
        '<ul id="list"></ul><p id="left"></p>'
    )
    script = """
let items = d.items.map((text) => ({ text, done: false }));
const show = () => {
  $("list").replaceChildren(...items.map((item) => {
    const li = document.createElement("li");
    li.textContent = item.text;
    li.style.opacity = item.done ? 0.5 : 1;
    li.onclick = () => { item.done = !item.done; show(); };
    return li;
  }));
  $("left").textContent = items.filter((item) => !item.done).length;
};
$("add").onclick = () => { items.push({ text: $("item").value, done: false }); $("item").value = ""; show(); };
$("clear").onclick = () => { items = items.filter((item) => !item.done); show(); };
show();
"""
    return component(told, {"title": unit, "items": given}, html, script, [read("#title", unit), *steps])


@family(UI, "search")
def search(rng: random.Random, difficulty: int) -> Instance:
    items = words(rng, 4 + 2 * difficulty)
    wanted = rng.choice(items)
    at = rng.randint(0, len(wanted) - 2)
    part = wanted[at : at + 2]
    first = [item for item in items if part[0] in item]
    both = [item for item in items if part in item]
    steps = [read("#count", len(items)), typed("#query", part[0].upper()), read("#count", len(first))]
    steps += [typed("#query", part[1]), read("#count", len(both)), read("#list", "\n".join(both))]
    told = (
        f"A search over {quoted(items)}. The ul #list holds as li those that contain the text of the input #query in "
        "this order; all of them at first. Upper and lower case count as the same. It follows each keystroke. #count "
        "shows how many they are."
    )
    html = '<input id="query"><p id="count"></p><ul id="list"></ul>'
    script = """
const show = () => {
  const found = d.items.filter((item) => item.toLowerCase().includes($("query").value.toLowerCase()));
  $("list").innerHTML = found.map((item) => `<li>${item}</li>`).join("");
  $("count").textContent = found.length;
};
$("query").oninput = show;
show();
"""
    return component(told, {"items": items}, html, script, steps)


@family(UI, "cart")
def cart(rng: random.Random, difficulty: int) -> Instance:
    names = words(rng, 2 + difficulty)
    prices = [10 * n for n in rng.sample(range(1, 40), len(names))]
    most, off = rng.randint(2, 4), 10 * rng.randint(1, 5) if difficulty > 1 else 0
    total, steps = 0, [read("#total", 0)]
    for n in range(1, most + 2):
        chosen = rng.randrange(len(names))
        total += prices[chosen]
        due = total * (100 - off) // 100 if n >= most else total
        steps += [click(f"#add-{LETTERS[chosen]}"), read("#total", due)]
    steps += [click("#clear"), read("#total", 0)]
    goods = ", ".join(f"'{name}' at {price}" for name, price in zip(names, prices, strict=True))
    told = (
        f"A shopping cart for {goods}. Buttons #add-a to #add-{LETTERS[len(names) - 1]} bear these names in this order "
        "and put one into the cart. #total shows the sum of the prices as a number alone. Button #clear empties it"
    )
    told += f". From {most} things in the cart on the sum is {off} percent lower." if off else "."
    html = f'{buttons("add", len(names))}<p id="total">0</p><button id="clear">Clear</button>'
    script = """
let sum = 0, n = 0;
const show = () => { $("total").textContent = n >= d.most ? (sum * (100 - d.off)) / 100 : sum; };
d.prices.forEach((price, i) => {
  const button = $("add-" + "abcdefgh"[i]);
  button.textContent = d.names[i];
  button.onclick = () => { sum += price; n += 1; show(); };
});
$("clear").onclick = () => { sum = n = 0; show(); };
"""
    data = {"names": names, "prices": prices, "most": most, "off": off}
    return component(told, data, html, script, [read("#add-a", names[0]), *steps])
