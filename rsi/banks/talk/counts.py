"""What adds up over a conversation: a total, a store, a list."""

import random

from rsi.banks import content
from rsi.banks.instance import Instance, family
from rsi.banks.talk.forms import TALK, Told, conversation, told_count


@family(TALK, "total")
def total(rng: random.Random, difficulty: int) -> Instance:
    told, now = [], 0
    for place in range(told_count(difficulty)):
        n = rng.randint(2, 30 + 20 * difficulty)
        less = place > 2 and n < now and rng.random() < 0.3
        now += -n if less else n
        text = f"Take {n} from the total." if less else f"Add {n} to the total."
        more = {f"What is the total plus {k}?": str(now + k) for k in (1, 2, 5, 10)}
        told.append(Told(text, {"What is the total?": str(now), **more}))
    return conversation(rng, told, "Reply noted to what I tell you, and answer my questions. The total begins at 0.")


@family(TALK, "store")
def store(rng: random.Random, difficulty: int) -> Instance:
    goods = content.words(rng, 3 + difficulty)
    told, held = [], dict[str, int]()
    for place in range(told_count(difficulty)):
        thing = goods[place] if place < len(goods) else rng.choice(goods)
        n = rng.randint(2, 20)
        out = n < held.get(thing, 0) and rng.random() < 0.5
        held = {**held, thing: held.get(thing, 0) + (-n if out else n)}
        text = f"Take {n} pieces of {thing} out." if out else f"Put {n} pieces of {thing} in."
        told.append(Told(text, {f"How many pieces of {name} are there?": str(held[name]) for name in held}))
    return conversation(rng, told)


@family(TALK, "listing")
def listing(rng: random.Random, difficulty: int) -> Instance:
    told, items = [], list[str]()
    for word in content.words(rng, told_count(difficulty)):
        if len(items) > 3 and rng.random() < 0.3:
            gone = rng.choice(items)
            items = [item for item in items if item != gone]
            text = f"Take {gone} off the list."
        else:
            items = [*items, word]
            text = f"Put {word} at the end of the list."
        answers = {
            "What is first on the list?": items[0],
            "What is last on the list?": items[-1],
            "How many things are on the list?": str(len(items)),
        }
        told.append(Told(text, answers))
    return conversation(rng, told)
