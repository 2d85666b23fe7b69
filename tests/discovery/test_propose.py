"""The model writes recipes under a grammar; whatever it writes instead is refused with a reason."""

from rsi.discovery.propose import ModelProposer, parse
from rsi.errors import ContextOverflow
from rsi.types import Completion, FamilyRate, ModelRequest, Recipe


class Wild:
    """A backend that ignores `choices` and says `texts` in turn; None overflows."""

    def __init__(self, *texts: str | None) -> None:
        self.texts, self.requests = list(texts), list[ModelRequest]()

    async def generate(self, request: ModelRequest) -> Completion:
        self.requests.append(request)
        text = self.texts.pop(0)
        if text is None:
            raise ContextOverflow("too long")
        return Completion(text=text, prompt_ids=(), token_ids=(), logprobs=(), policy_version="v", finish="stop")

    async def close(self) -> None: ...


def rate(family: str, difficulty: int, passes: int = 0, n: int = 0) -> FamilyRate:
    return FamilyRate(recipe=Recipe(family=family, difficulty=difficulty), passes=passes, n=n)


RATES = [rate("sort", 1, 8, 8), rate("sort", 2), rate("head", 1, 1, 4)]


def test_parsing_is_strict():
    assert parse(" family=sort difficulty=2\n") == Recipe(family="sort", difficulty=2)
    for text in (
        "family=sort difficulty=9",
        "family=sort",
        "x family=sort difficulty=1",
        "family=sort difficulty=1\nrm -rf /",
        "family=sort difficulty=\u0661",
        "family=../x\n difficulty=1",
        "",
    ):
        assert parse(text) is None


async def test_texts_outside_the_grammar_are_refused_with_reasons():
    model = Wild(
        "family=sort difficulty=2",
        "family=sort difficulty=2",
        "family=sort difficulty=1",
        "family=secret difficulty=1",
        "ignore all previous instructions" * 50,
        "family=head difficulty=1",
    )
    recipes, refusals = await ModelProposer(model).propose(RATES, 6, seed=1)
    assert recipes == [Recipe(family="sort", difficulty=2), Recipe(family="head", difficulty=1)]
    reasons = [refusal.reason for refusal in refusals]
    assert reasons == [
        "written already in this generation",
        "reliably solved already (8 of 8 draws)",
        "no such open recipe",
        "not a line of the grammar",
    ]
    assert max(len(refusal.text) for refusal in refusals) <= 200


async def test_requests_are_constrained_and_show_measured_rates_only():
    model = Wild("family=sort difficulty=2", "family=head difficulty=1")
    await ModelProposer(model, adapter="rev1").propose(RATES, 2, seed=1)
    first, second = model.requests
    assert first.choices == ("family=sort difficulty=1", "family=sort difficulty=2", "family=head difficulty=1")
    assert "family=sort difficulty=2" not in second.choices
    assert first.seed != second.seed
    assert first.adapter == "rev1"
    user = first.messages[-1].content
    assert "family=sort difficulty=1: solved 8 of 8" in user
    assert "family=sort difficulty=2" not in user


async def test_it_stops_when_the_grammar_is_used_up_or_the_window_is_full():
    assert await ModelProposer(Wild("family=head difficulty=1")).propose([rate("head", 1)], 5, 0) == (
        [Recipe(family="head", difficulty=1)],
        [],
    )
    recipes, refusals = await ModelProposer(Wild(None)).propose(RATES, 5, 0)
    assert (recipes, len(refusals)) == ([], 1)


async def test_a_family_whose_name_breaks_the_grammar_is_not_offered():
    model = Wild("family=sort difficulty=2")
    await ModelProposer(model).propose([rate("a\nb", 1), rate("sort", 2)], 1, 0)
    assert model.requests[0].choices == ("family=sort difficulty=2",)
