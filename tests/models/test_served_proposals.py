"""Recipes asked of a server that keeps to no choices, or refuses: each is a refusal, and the run goes on."""

import pytest
from plain_server import answering, refused, said

from rsi.config import ModelSettings
from rsi.discovery.propose import ModelProposer
from rsi.models.openai import OpenAIModel
from rsi.types import FamilyRate, Recipe

RATES = [FamilyRate(recipe=Recipe(family="f", difficulty=1), passes=0, n=0)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (said("<answer>none</answer>"), "not a line of the grammar"),
        (said(None), "not a line of the grammar"),
        (said("", finish="content_filter"), "the model's server refused the request"),
        (refused("filtered", code="content_filter"), "the model's server refused the request"),
    ],
)
async def test_what_is_no_recipe_is_a_refusal(answer, reason):
    with answering(lambda body: answer if "recipe" in str(body["messages"]) else said()) as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        await model.learn()
        recipes, refusals = await ModelProposer(model).propose(RATES, 2, 0)
    assert not recipes and [refusal.reason for refusal in refusals] == [reason] * 2
