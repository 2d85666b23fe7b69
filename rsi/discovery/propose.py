"""Recipes that the model itself writes, under a grammar: one line of a finite set.

The prompt holds rates of open families and nothing else; the proposer is never given tasks, keys or the bank.
The text that comes back is hostile: it is parsed strictly even where the backend promised to constrain it.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from rsi.discovery.band import reliable
from rsi.errors import ContextOverflow, RequestRefusedError
from rsi.ids import seed_of
from rsi.ports import ModelBackend
from rsi.types import FamilyRate, Message, ModelRequest, Recipe, Refusal, Sampling

LINE = re.compile(r"family=([A-Za-z0-9_.-]{1,64}) difficulty=([1-5])", re.ASCII)
SHOWN = 30  # measured recipes in the prompt, at most
SYSTEM = (
    "You choose what to practise next. Below are task recipes and how often they are solved now. "
    "Answer with one line, family=NAME difficulty=NUMBER, for a recipe that is neither hopeless nor already solved."
)


def line(recipe: Recipe) -> str:
    return f"family={recipe.family} difficulty={recipe.difficulty}"


def parse(text: str) -> Recipe | None:
    """The recipe that `text` is, or None: nothing may stand before or after it but white space."""
    match = LINE.fullmatch(text.strip())
    return Recipe(family=match[1], difficulty=int(match[2])) if match else None


def refusal(recipe: Recipe | None, rates: Mapping[Recipe, FamilyRate], taken: Collection[Recipe]) -> str:
    """Why a written recipe cannot be used; empty where it can. `rates` holds every recipe that may be asked for."""
    if recipe is None:
        return "not a line of the grammar"
    if recipe not in rates:
        return "no such open recipe"
    if recipe in taken:
        return "written already in this generation"
    rate = rates[recipe]
    if reliable(rate.passes, rate.n):
        return f"reliably solved already ({rate.passes} of {rate.n} draws)"
    return ""


class ModelProposer:
    """Asks `model` for one recipe a request. `adapter` is the specialist's revision, or None for the base."""

    def __init__(self, model: ModelBackend, adapter: str | None = None, temperature: float = 1.0) -> None:
        self._model, self._adapter = model, adapter
        self._sampling = Sampling(temperature=temperature, top_p=1.0, max_new_tokens=48)

    async def propose(
        self, rates: Sequence[FamilyRate], n: int, seed: int
    ) -> tuple[Sequence[Recipe], Sequence[Refusal]]:
        """At most `n` recipes among those of `rates` (n = 0 draws: not tried yet), and every text that was refused."""
        known = {rate.recipe: rate for rate in rates if LINE.fullmatch(line(rate.recipe))}
        recipes: list[Recipe] = []
        refusals: list[Refusal] = []
        for index in range(n):
            choices = tuple(line(recipe) for recipe in known if recipe not in recipes)
            if not choices:
                break
            request = self._request(list(known.values()), choices, seed_of(seed, "propose", index))
            try:
                text = (await self._model.generate(request)).text
            except ContextOverflow:
                refusals.append(Refusal(recipe=None, text="", reason="the rates do not fit the model's window"))
                break
            except RequestRefusedError:
                refusals.append(Refusal(recipe=None, text="", reason="the model's server refused the request"))
                continue
            recipe = parse(text)
            reason = refusal(recipe, known, recipes)
            if recipe is not None and not reason:
                recipes.append(recipe)
            else:
                refusals.append(Refusal(recipe=recipe, text=text[:200], reason=reason))
        return recipes, refusals

    def _request(self, rates: Sequence[FamilyRate], choices: tuple[str, ...], seed: int) -> ModelRequest:
        measured = [f"{line(r.recipe)}: solved {r.passes} of {r.n}" for r in rates if r.n][:SHOWN]
        return ModelRequest(
            messages=(
                Message(role="system", content=SYSTEM),
                Message(role="user", content="\n".join([*measured, "Next recipe:"])),
            ),
            sampling=self._sampling,
            seed=seed,
            adapter=self._adapter,
            choices=choices,
        )
