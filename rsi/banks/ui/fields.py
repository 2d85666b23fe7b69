"""Components with fields: what is typed is computed with, or sent to the model, but for what is private."""

import random

from rsi.banks.content import NAMES, words
from rsi.banks.instance import Instance, family
from rsi.banks.ui.forms import UI, click, component, read, secret, title, typed


@family(UI, "sign_up")
def sign_up(rng: random.Random, difficulty: int) -> Instance:
    names, (hello, club, ask) = rng.sample(NAMES, 2), words(rng, 3)
    hidden, steps = secret(rng), [read("#said", "")]
    if difficulty > 1:
        steps += [click("#send"), read("#said", ask)]
    steps += [typed("#name", names[0]), typed("#code", hidden), click("#send"), read("#said", f"{hello} {names[0]}")]
    if difficulty > 2:
        steps += [typed("#name", names[1]), click("#send"), read("#said", f"{hello} {names[0]}{names[1]}")]
    told = (
        f"A form to join '{club}' with the inputs #name and #code. The code is NoAI: it must never reach the model in "
        f"any form. Button #send calls `host.toModel` with an object whose field `name` is the name and whose field "
        f"`club` is '{club}'; then #said shows '{hello}' and the name with a space between them. It is empty at first"
    )
    told += f". While the name is empty #send shows '{ask}' in #said and does nothing else." if difficulty > 1 else "."
    html = '<input id="name"><input id="code"><button id="send">Join ${d.club}</button><p id="said"></p>'
    script = """
$("send").onclick = () => {
  const name = $("name").value;
  if (d.ask && !name) { $("said").textContent = d.ask; return; }
  host.toModel({ name, club: d.club });
  $("said").textContent = `${d.hello} ${name}`;
};
"""
    data = {"club": club, "hello": hello, "ask": ask if difficulty > 1 else ""}
    return component(told, data, html, script, steps, sent=(names[0], club), no_ai=(hidden,))


@family(UI, "contact")
def contact(rng: random.Random, difficulty: int) -> Instance:
    message, phone, (topic, thanks) = " ".join(words(rng, 2 + difficulty)), secret(rng), words(rng, 2)
    steps = [typed("#phone", phone), typed("#message", message), click("#send"), read("#thanks", thanks)]
    steps += [read("#message", ""), read("#phone", phone)]
    told = (
        f"A contact form about '{topic}' with the textarea #message and the input #phone. The phone is NoAI: it must "
        f"never reach the model in any form. Button #send calls `host.toModel` with an object whose field `message` is "
        f"the message and whose field `topic` is '{topic}'; then it empties #message alone and shows '{thanks}' in "
        "#thanks."
    )
    html = (
        '<h2>${d.topic}</h2><textarea id="message"></textarea><input id="phone"><button id="send">Send</button>'
        '<p id="thanks"></p>'
    )
    script = """
$("send").onclick = () => {
  host.toModel({ message: $("message").value, topic: d.topic });
  $("message").value = "";
  $("thanks").textContent = d.thanks;
};
"""
    return component(
        told, {"topic": topic, "thanks": thanks}, html, script, steps, sent=(message, topic), no_ai=(phone,)
    )


@family(UI, "converter")
def converter(rng: random.Random, difficulty: int) -> Instance:
    name, (big, small, none) = title(rng), words(rng, 3)
    factor, added = rng.randint(2, 60), rng.randint(1, 99) if difficulty > 1 else 0
    first, second = rng.randint(1, 9), rng.randint(0, 9)
    both = int(f"{first}{second}")
    steps = [read("#title", name), read("#to", none)]
    steps += [typed("#from", str(first)), read("#to", f"{first * factor + added} {small}")]
    steps += [typed("#from", str(second)), read("#to", f"{both * factor + added} {small}")]
    steps += [typed("#from", "x"), read("#to", none)] if difficulty > 2 else []
    told = (
        f"A converter with the title '{name}' in #title. One '{big}' is {factor} '{small}'. The text input #from takes "
        f"a whole number of '{big}'. #to follows each keystroke and shows the number of '{small}' and a space and the "
        f"word '{small}'. It shows '{none}' while the input is empty or no whole number"
    )
    told += f". A fee of {added} '{small}' is always added." if added else "."
    html = '<h2 id="title">${d.title}</h2><input id="from"><p id="to"></p>'
    script = r"""
const show = () => {
  const text = $("from").value;
  $("to").textContent = /^\d+$/.test(text) ? `${Number(text) * d.factor + d.added} ${d.small}` : d.none;
};
$("from").oninput = show;
show();
"""
    data = {"title": name, "factor": factor, "added": added, "small": small, "none": none}
    return component(told, data, html, script, steps)


@family(UI, "price")
def price(rng: random.Random, difficulty: int) -> Instance:
    (ticket, extra), each, more = words(rng, 2), rng.randint(3, 60), rng.randint(3, 30)
    many, off = rng.randint(3, 8), rng.randint(2, 50)

    def due(count: int, with_extra: bool) -> int:
        sum_ = count * each + (more if with_extra else 0)
        return sum_ - (off if difficulty > 1 and count >= many else 0)

    first, second = rng.randint(1, 2), rng.randint(0, 9)
    both = int(f"{first}{second}")
    steps = [read("#total", 0), typed("#count", str(first)), read("#total", due(first, False))]
    steps += [click("#extra"), read("#total", due(first, True)), typed("#count", str(second))]
    steps += [read("#total", due(both, True)), click("#extra"), read("#total", due(both, False))]
    told = (
        f"A price calculator. A '{ticket}' costs {each}; the text input #count takes how many. Button #extra adds "
        f"'{extra}' for {more} once; another press takes it away again. #total follows each change and shows the price "
        f"as a number alone; zero while #count is empty"
    )
    told += f". From {many} on the price is lower by {off}." if difficulty > 1 else "."
    html = '<input id="count"><button id="extra">${d.extra}</button><p id="total"></p>'
    script = """
let extra = 0;
const show = () => {
  const n = Number($("count").value);
  $("total").textContent = n ? n * d.each + extra - (n >= d.many ? d.off : 0) : 0;
};
$("count").oninput = show;
$("extra").onclick = () => { extra = d.more - extra; show(); };
show();
"""
    data = {"extra": extra, "each": each, "more": more, "many": many, "off": off if difficulty > 1 else 0}
    return component(told, data, html, script, steps)


@family(UI, "limit")
def limit(rng: random.Random, difficulty: int) -> Instance:
    most, (fine, long, topic) = rng.randint(6, 40), words(rng, 3)
    text = "".join(rng.choices("abcdefgh ", k=most - rng.randint(1, 5))).replace(" ", "-")
    over = "z" * rng.randint(6, 9)
    steps = [read("#left", most), typed("#text", text), read("#left", most - len(text)), read("#state", fine)]
    steps += [click("#send")] if difficulty > 1 else []
    steps += [typed("#text", over), read("#left", most - len(text) - len(over)), read("#state", long)]
    told = (
        f"A note about '{topic}' of at most {most} characters in the textarea #text. #left follows each keystroke and "
        f"shows how many characters are left (a number alone; below zero when there are too many). #state shows "
        f"'{fine}' while they fit and '{long}' when there are too many"
    )
    if difficulty > 1:
        told += (
            f". Button #send calls `host.toModel` with an object whose field `text` is the text and whose field "
            f"`topic` is '{topic}'"
        )
    html = '<textarea id="text"></textarea><p id="left"></p><p id="state"></p><button id="send">Send</button>'
    script = """
const show = () => {
  const left = d.most - $("text").value.length;
  $("left").textContent = left;
  $("state").textContent = left < 0 ? d.long : d.fine;
};
$("text").oninput = show;
$("send").onclick = () => host.toModel({ text: $("text").value, topic: d.topic });
show();
"""
    data = {"most": most, "fine": fine, "long": long, "topic": topic}
    return component(told + ".", data, html, script, steps, sent=(text, topic) if difficulty > 1 else ())
