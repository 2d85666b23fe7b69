"""Components that show one part of several."""

import random

from rsi.banks.content import words
from rsi.banks.instance import Instance, family
from rsi.banks.ui.forms import LETTERS, UI, buttons, click, component, joined, quoted, read, title


@family(UI, "tabs")
def tabs(rng: random.Random, difficulty: int) -> Instance:
    names = words(rng, 2 + difficulty)
    texts = [title(rng) for _ in names]
    steps = [read("#panel", texts[0]), read("#tab-b", names[1])]
    for _ in range(2 + difficulty):
        n = rng.randrange(len(names))
        steps += [click(f"#tab-{LETTERS[n]}"), read("#panel", texts[n])]
    told = (
        f"Tabs: {joined(names, 'with', texts)}. Buttons #tab-a to #tab-{LETTERS[len(names) - 1]} bear the names in "
        "this order. #panel shows the text of the tab that was pressed last and that of the first one at first."
    )
    html = f'{buttons("tab", len(names))}<p id="panel"></p>'
    script = """
const show = (i) => { $("panel").textContent = d.texts[i]; };
d.names.forEach((name, i) => {
  $("tab-" + "abcdefgh"[i]).textContent = name;
  $("tab-" + "abcdefgh"[i]).onclick = () => show(i);
});
show(0);
"""
    return component(told, {"names": names, "texts": texts}, html, script, steps)


@family(UI, "accordion")
def accordion(rng: random.Random, difficulty: int) -> Instance:
    heads, alone = words(rng, 2 + (difficulty > 2)), difficulty > 1
    texts, opened = [title(rng) for _ in heads], set[int]()
    steps = [read("#head-b", heads[1]), read("#body-a", "")]
    for _ in range(4):
        n = rng.randrange(len(heads))
        kept = set() if alone else opened - {n}
        opened = kept if n in opened else kept | {n}
        steps.append(click(f"#head-{LETTERS[n]}"))
        steps += [read(f"#body-{LETTERS[i]}", text if i in opened else "") for i, text in enumerate(texts)]
    last = LETTERS[len(heads) - 1]
    told = (
        f"An accordion of {joined(heads, 'over', texts)}. Buttons #head-a "
        f"to #head-{last} bear the heads in this order. The paragraphs #body-a to #body-{last} hold the texts where "
        "they are open and no text where they are closed. All are closed at first. A press on a head opens or closes "
        "its text"
    )
    told += " and closes all others." if alone else " and leaves the others as they are."
    html = "".join(f'<button id="head-{x}"></button><p id="body-{x}"></p>' for x in LETTERS[: len(heads)])
    script = """
const open = d.heads.map(() => false);
const show = () => open.forEach((is, i) => { $("body-" + "abcdefgh"[i]).textContent = is ? d.texts[i] : ""; });
d.heads.forEach((head, i) => {
  const button = $("head-" + "abcdefgh"[i]);
  button.textContent = head;
  button.onclick = () => {
    const was = open[i];
    if (d.alone) open.fill(false);
    open[i] = !was;
    show();
  };
});
"""
    return component(told, {"heads": heads, "texts": texts, "alone": alone}, html, script, steps)


@family(UI, "quiz")
def quiz(rng: random.Random, difficulty: int) -> Instance:
    count = 1 + difficulty
    chosen = words(rng, 2 * count + 3)
    asked, answers, (right, wrong, ended) = chosen[:count], chosen[count : 2 * count], chosen[2 * count :]
    options, score = rng.sample(answers, count), 0
    made = [read("#question", asked[0]), read("#score", 0)]
    for n, answer in enumerate(answers):
        pick = answer if rng.random() < 0.6 else rng.choice(options)
        score += pick == answer
        made += [click(f"#option-{LETTERS[options.index(pick)]}"), read("#said", right if pick == answer else wrong)]
        made += [read("#score", score), read("#question", [*asked, ended][n + 1])]
    told = (
        f"A quiz: {joined(asked, 'goes with', answers)}. #question shows "
        f"the first word of each pair in this order. Buttons #option-a to #option-{LETTERS[count - 1]} always bear "
        f"{quoted(options)} in this order. A press answers the question: #said shows '{right}' or '{wrong}' and #score "
        f"how many answers were right (a number alone; zero at first) and the next question comes. After the last one "
        f"#question shows '{ended}'."
    )
    html = f'<p id="question"></p>{buttons("option", count)}<p id="said"></p><p id="score">0</p>'
    script = """
let at = 0, points = 0;
const show = () => { $("question").textContent = at < d.asked.length ? d.asked[at] : d.ended; };
d.options.forEach((option, i) => {
  const button = $("option-" + "abcdefgh"[i]);
  button.textContent = option;
  button.onclick = () => {
    if (at === d.asked.length) return;
    const hit = option === d.answers[at];
    points += hit ? 1 : 0;
    at += 1;
    $("said").textContent = hit ? d.right : d.wrong;
    $("score").textContent = points;
    show();
  };
});
show();
"""
    data = {"asked": asked, "answers": answers, "options": options, "right": right, "wrong": wrong, "ended": ended}
    return component(told, data, html, script, made)
