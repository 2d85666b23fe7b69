"""The episode loop, driven by a scripted model in a plain folder (its isolation is tested elsewhere)."""

import inspect

import pytest

from benchmarks.plain_sandbox import PlainProvider
from rsi.errors import ContextOverflow, InfrastructureError, IntegrityError
from rsi.harness import run_episode
from rsi.ids import seed_of
from rsi.types import (
    Budgets,
    Completion,
    HarnessConfig,
    Recipe,
    Sampling,
    StopHook,
    Task,
    Termination,
)

TASK = Task(
    id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="Go.", files={"in/a.txt": "1\n2\n"}
)


class Replies:
    """Says its replies in order; one token a byte; keeps the requests. An exception among the replies is raised."""

    def __init__(self, *replies):
        self.replies, self.requests = list(replies), []

    async def generate(self, request):
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        prompt = "".join(f"\x01{m.role}\x02{m.content}" for m in request.messages) + "\x01assistant\x02"
        tokens = tuple(reply.encode())[: request.sampling.max_new_tokens]
        return Completion(
            text=bytes(tokens).decode(),
            prompt_ids=tuple(prompt.encode()),
            token_ids=tokens,
            logprobs=(0.0,) * len(tokens),
            policy_version="v",
            finish="length" if len(tokens) < len(reply.encode()) else "stop",
        )

    async def close(self):
        pass


def config(*hooks, turns=1, tokens=1000, max_new_tokens=500, **fields):
    budgets = {"turns": turns, "tokens": tokens, **fields.pop("budgets", {})}
    sampling = Sampling(max_new_tokens=max_new_tokens)
    return HarnessConfig(
        document_digest="d", system="S", budgets=Budgets(**budgets), sampling=sampling, stop_hooks=hooks, **fields
    )


async def run(model, harness, task=TASK, sandboxed=True, adapter=None):
    sandbox = await PlainProvider().open() if sandboxed else None
    try:
        return await run_episode(task, harness, model, sandbox, 7, adapter)
    finally:
        if sandbox:
            await sandbox.close()


def sh(command):
    return f"```sh\n{command}\n```"


def test_it_cannot_be_given_a_key_or_a_verifier():
    parameters = list(inspect.signature(run_episode).parameters)
    assert parameters == ["task", "harness", "model", "sandbox", "seed", "adapter", "toolset"]


async def test_one_turn_takes_one_action():
    model = Replies(sh("cat in/a.txt; echo bad >&2; exit 3"))
    episode = await run(model, config(), adapter="rev")
    assert (episode.output, episode.termination, episode.well_formed) == ("1\n2\n", Termination.ANSWERED, True)
    (turn,) = episode.turns
    assert turn.action == "cat in/a.txt; echo bad >&2; exit 3" and turn.exit_code == 3
    assert turn.observation == "1\n2\nbad\n[exit code 3]"
    (request,) = model.requests
    assert request.seed == seed_of(7, 0) and request.adapter == "rev" and request.prefix_ids == ()
    assert episode.cost.turns == 1 and episode.cost.completion_tokens == len(turn.completion.token_ids)
    assert episode.cost.seconds >= episode.cost.sandbox_seconds > 0


async def test_several_turns_show_observations_and_keep_the_sampled_tokens():
    model = Replies(sh("ls in"), "I see.\n" + sh("cat in/a.txt"), "<answer>2</answer>")
    episode = await run(model, config(turns=5))
    assert (episode.output, episode.termination) == ("2", Termination.ANSWERED)
    assert [m.content for m in model.requests[2].messages[-4:]] == [
        sh("ls in"), "a.txt", "I see.\n" + sh("cat in/a.txt"), "1\n2",
    ]  # fmt: skip
    for before, after in zip(episode.turns, model.requests[1:], strict=False):
        assert after.prefix_ids == before.completion.prompt_ids + before.completion.token_ids
    assert [r.seed for r in model.requests] == [seed_of(7, n) for n in range(3)]


async def test_a_prompt_that_breaks_the_sampled_prefix_is_refused():
    class Breaks(Replies):
        async def generate(self, request):
            completion = await super().generate(request)
            cut = completion.prompt_ids[len(self.requests) - 1 :]  # whole at first, then one token short
            return completion.model_copy(update={"prompt_ids": cut})

    with pytest.raises(IntegrityError, match="sampled"):
        await run(Breaks(sh("ls"), sh("ls")), config(turns=2))


@pytest.mark.parametrize(
    ("replies", "fields", "end", "turns"),
    [
        (["no idea"], {}, Termination.NO_ACTION, 1),
        ([sh("ls"), "done"], {"turns": 4}, Termination.NO_ACTION, 2),
        ([sh("ls")] * 3, {"turns": 3}, Termination.TURNS, 3),
        (["a long story"], {"tokens": 4}, Termination.TOKENS, 1),
        ([sh("ls")] * 3, {"turns": 9, "tokens": 2 * len(sh("ls"))}, Termination.TOKENS, 2),
        ([sh("sleep 5")] * 2, {"turns": 2, "budgets": {"seconds": 0.2}}, Termination.SECONDS, 1),
        ([sh("ls"), ContextOverflow("full")], {"turns": 4}, Termination.CONTEXT, 1),
        ([ContextOverflow("full")], {}, Termination.CONTEXT, 0),
    ],
)
async def test_how_an_episode_ends(replies, fields, end, turns):
    episode = await run(Replies(*replies), config(**fields))
    assert (episode.termination, len(episode.turns)) == (end, turns)


async def test_output_is_the_last_commands_when_context_is_full():
    episode = await run(Replies(sh("echo 5"), ContextOverflow("full")), config(turns=3))
    assert (episode.output, episode.termination) == ("5\n", Termination.CONTEXT)


async def test_a_turn_never_samples_beyond_the_budget():
    model = Replies(sh("ls"), sh("ls"))
    await run(model, config(turns=2, tokens=30, max_new_tokens=20))
    assert [r.sampling.max_new_tokens for r in model.requests] == [20, 30 - len(sh("ls"))]


async def test_infrastructure_failures_propagate():
    with pytest.raises(InfrastructureError):
        await run(Replies(InfrastructureError("gone")), config())


async def test_without_a_sandbox_only_an_answer_counts():
    reasoning = TASK.model_copy(update={"needs_sandbox": False, "files": {}})
    model = Replies(sh("ls") + "\n<answer> 4 </answer>")
    episode = await run(model, config(), task=reasoning, sandboxed=False)
    assert (episode.output, episode.termination) == ("4", Termination.ANSWERED)
    assert model.requests[0].stop == ("</answer>",)
    assert (await run(Replies(sh("ls")), config(), sandboxed=False)).termination == Termination.NO_ACTION


async def test_an_unclosed_fence_acts_but_is_not_well_formed():
    episode = await run(Replies("```sh\necho 1"), config())
    assert (episode.output, episode.well_formed) == ("1\n", False)


async def test_file_tools_stay_inside_and_fail_as_data():
    model = Replies(
        "```write new/b c.txt\n$HOME 'x'\n```", "```read new/b c.txt\n```", "```write ../x\ny\n```",
        "```read /etc/passwd\n```", "```write in\nover a folder\n```", "```read none\n```",
    )  # fmt: skip
    episode = await run(model, config(turns=6, tools=("read", "write")))
    observations = [turn.observation for turn in episode.turns]
    assert observations[:2] == ["[no output]", "$HOME 'x'"]
    assert all("must be relative" in text for text in observations[2:4])
    assert [turn.exit_code == 0 for turn in episode.turns] == [True, True, False, False, False, False]
    assert episode.turns[0].action == "write new/b c.txt\n$HOME 'x'\n"


async def test_observations_are_bounded_and_say_what_was_cut():
    episode = await run(Replies(sh("seq 10000")), config(budgets={"output_chars": 100}))
    text = episode.turns[0].observation
    assert len(text) < 150 and text.startswith("1\n2\n") and text.endswith("9999\n10000") and "characters cut]" in text
    assert len(episode.output) > 40_000


def hook(builtin=None, **fields):
    return StopHook(**{"name": builtin or "h", "message": "Again.", "builtin": builtin, **fields})


async def test_a_stop_hook_gives_one_more_turn_within_its_cap():
    model = Replies("hm", sh("echo 1"))
    episode = await run(model, config(hook("no_action")))
    assert (episode.output, len(episode.turns), episode.termination) == ("1\n", 2, Termination.ANSWERED)
    assert [m.content for m in model.requests[1].messages[-2:]] == ["hm", "Again."]
    capped = await run(Replies("hm", "hm", "hm", "hm"), config(hook("no_action", max_blocks=2)))
    assert (len(capped.turns), capped.termination) == (3, Termination.NO_ACTION)


async def test_error_exit_and_empty_output_show_the_observation():
    model = Replies(sh("cat none"), sh("true"), sh("echo 1"))
    episode = await run(model, config(hook("error_exit"), hook("empty_output")))
    assert (episode.output, len(episode.turns)) == ("1\n", 3)
    assert "No such file" in model.requests[1].messages[-1].content
    assert model.requests[1].messages[-1].content.endswith("[exit code 1]\n\nAgain.")


async def test_hook_commands_run_in_the_sandbox_and_declare_how_they_fail():
    check = hook(command="test -e done", name="c")
    assert len((await run(Replies(sh("true"), sh("touch done")), config(check))).turns) == 2
    assert len((await run(Replies(sh("touch done")), config(check))).turns) == 1
    slow = {"command": "sleep 5", "timeout": 0.1}
    assert len((await run(Replies(sh("true")), config(hook(**slow)))).turns) == 1
    assert len((await run(Replies(sh("true"), sh("true")), config(hook(**slow, fail="closed")))).turns) == 2
    reasoning = TASK.model_copy(update={"needs_sandbox": False})
    replies = ["<answer>1</answer>"] * 2
    closed = await run(Replies(*replies), config(hook(command="true", fail="closed")), reasoning, sandboxed=False)
    assert len(closed.turns) == 2


async def test_a_budget_ends_an_episode_whatever_hooks_say():
    episode = await run(Replies("hm"), config(hook("no_action", max_blocks=5), tokens=2))
    assert (episode.termination, len(episode.turns)) == (Termination.TOKENS, 1)


class StopsByStrings(Replies):
    """A server that ends a reply at the first stop string, whatever that is part of."""

    async def generate(self, request):
        whole = self.replies[0]
        completion = await super().generate(request)
        ends = [whole.index(stop) + len(stop) for stop in request.stop if stop in whole]
        if not ends:
            return completion
        self.replies.insert(0, whole)
        said = whole[: min(ends)]
        return completion.model_copy(update={"text": said, "token_ids": tuple(said.encode())})


async def test_a_quotation_that_a_server_has_cut_is_asked_for_whole():
    reply = "````sh\ncat > a.md <<'E'\n```sh\nrm x\n```\nE\ncat a.md\n````\n"
    model = StopsByStrings(reply, "<answer>1</answer>")
    episode = await run(model, config(turns=2, tokens=300))
    assert episode.turns[0].observation == "```sh\nrm x\n```" and episode.output == "1"
    assert [bool(request.stop) for request in model.requests] == [True, False, True]
    cut = reply[: reply.index("\n```\n") + 5]
    assert model.requests[2].sampling.max_new_tokens == 300 - len(cut) - len(reply), "what was sampled counts"
