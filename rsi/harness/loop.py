"""The episode loop: ask the model, take its action, show what came of it, until something ends it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rsi.errors import ContextOverflow, IntegrityError, RequestRefusedError
from rsi.fences import ends_quoted
from rsi.harness.bring import bring
from rsi.harness.furnish import furnish
from rsi.harness.hooks import HookSession, Occasion
from rsi.harness.mcp import mcp_tools
from rsi.harness.memory import compacted
from rsi.harness.prompt import opening
from rsi.harness.protocol import Action
from rsi.harness.protocols import ActionProtocol, answers, chosen, introduced, sendable
from rsi.harness.repl import Tool
from rsi.harness.templates import expand
from rsi.harness.tools import Outcome
from rsi.ids import digest, seed_of
from rsi.ports import ModelBackend, Sandbox
from rsi.text import clean
from rsi.types import (
    Completion,
    Cost,
    HarnessConfig,
    Memory,
    Message,
    ModelRequest,
    StagedTool,
    Task,
    Termination,
    ToolCall,
    Turn,
)


@dataclass(frozen=True)
class Episode:
    """`output` is the answer, else what the last command printed. `well_formed`: a properly closed action was given.
    `outputs` are those of each user message that was reached, `output` being the last."""

    turns: tuple[Turn, ...]
    output: str
    termination: Termination
    cost: Cost
    well_formed: bool
    outputs: tuple[str, ...] = ()
    staged: tuple[StagedTool, ...] = ()  # functions that the agent saved
    hook_failures: tuple[str, ...] = ()  # event, name, and why it gave no answer


async def run_episode(
    task: Task,
    harness: HarnessConfig,
    model: ModelBackend,
    sandbox: Sandbox | None,
    seed: int,
    adapter: str | None,
    toolset: Sequence[Tool] = (),
) -> Episode:
    """Play one episode; `toolset` holds what the repl protocol may call outside the sandbox. A model's bad work ends
    it, and is data. Raises InfrastructureError (model, sandbox or tool), UserError (unknown adapter), IntegrityError
    (a prompt that does not continue the sampled tokens)."""
    if sandbox is not None:
        sandbox = await bring(harness, sandbox)
        await furnish(task, sandbox)
    toolset = (*toolset, *await mcp_tools(sandbox, harness.mcp))
    hooks = HookSession(harness, sandbox, digest(["session", seed]))
    protocol = chosen(harness, sandbox, toolset, hooks.within)
    messages = introduced(opening(task, harness), protocol.intro)
    run = _Run(harness, model, seed, adapter, protocol, messages, hooks)
    end = None if await run.let_in() else Termination.NO_ACTION
    while end is None:
        end = await run.turn()
        if end in (Termination.ANSWERED, Termination.NO_ACTION) and await run.held_back():
            end = None
        elif end in (Termination.ANSWERED, Termination.NO_ACTION) and len(run.outputs) < len(task.user_turns):
            end = await run.next_request(task.user_turns[len(run.outputs)])
    await hooks.ask(Occasion("SessionEnd"), run.seconds_left)
    return run.episode(end)


@dataclass
class _Run:
    """One episode in progress."""

    harness: HarnessConfig
    model: ModelBackend
    seed: int
    adapter: str | None
    protocol: ActionProtocol
    messages: list[Message]
    hooks: HookSession
    head: tuple[Message, ...] = ()
    log: list[Message] = field(default_factory=list)  # the request and all after it, whatever `messages` still shows
    requests: list[int] = field(default_factory=lambda: [0])  # places in `log` of what the user asked
    outputs: list[str] = field(default_factory=list)  # of the user messages before the current one
    segment: int = 0
    turns: list[Turn] = field(default_factory=list)
    output: str = ""
    well_formed: bool = False
    began: float = field(default_factory=time.monotonic)
    model_seconds: float = 0.0
    tool_seconds: float = 0.0
    altered: bool = False  # whether the last reply is not as it was sampled
    discarded: int = 0  # tokens of replies that were asked for again

    @property
    def sandbox_seconds(self) -> float:
        return self.tool_seconds + self.hooks.seconds

    @property
    def seconds_left(self) -> float:
        return self.harness.budgets.seconds - self.model_seconds - self.sandbox_seconds

    @property
    def tokens_left(self) -> int:
        sampled = sum(len(turn.completion.token_ids) for turn in self.turns)
        return self.harness.budgets.tokens - sampled - self.discarded

    async def let_in(self) -> bool:
        """SessionStart and UserPromptSubmit: whether the request may be asked; what they add stands behind it."""
        request = self.messages[-1].content
        for occasion in (Occasion("SessionStart"), Occasion("UserPromptSubmit", prompt=request)):
            decision = await self.hooks.ask(occasion, self.seconds_left)
            if decision.hook is not None:
                return False
            request = "\n\n".join([request, *decision.context])
        self.messages[-1] = Message(role="user", content=request)
        self.head, self.log = tuple(self.messages[:-1]), self.messages[-1:]
        return True

    async def next_request(self, text: str) -> Termination | None:
        """The user's next message of a conversation; None where it goes on. Budgets hold over all of it; a message that
        they or a hook keep out has no output."""
        if not self._turns_left:
            return Termination.TURNS
        request = expand(text, self.harness.prompts)
        decision = await self.hooks.ask(Occasion("UserPromptSubmit", prompt=request), self.seconds_left)
        if decision.hook is not None:
            return Termination.NO_ACTION
        self.outputs.append(self.output)
        self.output = ""
        self.requests.append(len(self.log))
        self._say(Message(role="user", content="\n\n".join([request, *decision.context])))
        return None

    @property
    def _turns_left(self) -> bool:
        return len(self.turns) < self.harness.budgets.turns + self.hooks.blocks.total()

    def _say(self, message: Message) -> None:
        self.messages.append(message)
        self.log.append(message)

    async def turn(self) -> Termination | None:
        """One model turn and its action; says how the episode ended, or None where it goes on."""
        if self.tokens_left <= 0:
            return Termination.TOKENS
        if self.seconds_left <= 0:
            return Termination.SECONDS
        try:
            completion = await self._ask_fitting()
        except ContextOverflow:
            return Termination.CONTEXT
        except RequestRefusedError:
            return Termination.REFUSED
        action = self.protocol.read(completion)
        if action is None or action.kind == "answer":
            self._take(completion, action, None)
            if action is not None:
                self.output = action.body
                return Termination.ANSWERED
            return Termination.TOKENS if completion.finish == "length" else Termination.NO_ACTION
        if self.seconds_left <= 0:
            self._take(completion, action, None)
            return Termination.SECONDS
        outcome = await self._use(action)
        self._take(completion, action, outcome)
        return self._after_action(outcome)

    def _after_action(self, outcome: Outcome) -> Termination | None:
        self.output = outcome.stdout
        if self._turns_left:
            for message in answers(self.log[-1], outcome.observation):
                self._say(message)
            return None
        return Termination.ANSWERED if self.harness.budgets.turns == 1 else Termination.TURNS

    async def _ask_fitting(self) -> Completion:
        """Ask; where the window is full and the document has a memory, ask again with less. Raises ContextOverflow."""
        memory, asked = self.harness.memory, False
        keep = memory.keep_turns if memory else 0
        while True:
            try:
                completion = await self._ask()
                break
            except ContextOverflow:
                if memory is None or keep < 1:
                    raise
                if not asked and (await self.hooks.ask(Occasion("PreCompact"), self.seconds_left)).hook is not None:
                    raise
                asked, self.segment = True, self.segment + 1
                self.messages = self._compacted(memory, keep)
                keep //= 2
        if asked:
            await self.hooks.ask(Occasion("PostCompact"), self.seconds_left)
        return completion

    def _compacted(self, memory: Memory, keep: int) -> list[Message]:
        told_first = memory.first == "told"
        return list(compacted(self.head, self.log, keep, memory.summary_chars, self.requests, told_first))

    async def _ask(self) -> Completion:
        last = self.turns[-1] if self.turns else None
        continues = last is not None and last.segment == self.segment
        prefix = (*last.completion.prompt_ids, *last.completion.token_ids) if last and continues else ()
        if min(prefix, default=0) < 0:  # ids that a server did not tell can continue nothing
            prefix = ()
        sampling = self.harness.sampling
        limit = min(sampling.max_new_tokens, self.tokens_left)
        request = ModelRequest(
            messages=tuple(self.messages),
            sampling=sampling.model_copy(update={"max_new_tokens": limit}),
            seed=seed_of(self.seed, len(self.turns)),
            adapter=self.adapter,
            prefix_ids=prefix,
            stop=self.protocol.stop,
            tools=self.protocol.offered,
        )
        completion = await self._generate(request)
        if completion.text.endswith(request.stop) and ends_quoted(completion.text):
            # A server that stops by strings alone has cut a quotation: the same again, without them.
            self.discarded += len(completion.token_ids)
            completion = await self._generate(request.model_copy(update={"stop": ()}))
        told = min(completion.prompt_ids, default=0) >= 0  # a server's model may go on without: it is never trained
        if told and completion.prompt_ids[: len(prefix)] != prefix:
            raise IntegrityError("the next prompt does not begin with the tokens that were sampled before it")
        cleaned = _clean(completion)
        self.altered = cleaned.text != completion.text
        return cleaned

    async def _generate(self, request: ModelRequest) -> Completion:
        began = time.monotonic()
        try:
            return await self.model.generate(request)
        finally:
            self.model_seconds += time.monotonic() - began

    async def _use(self, action: Action) -> Outcome:
        action, denied = await self.hooks.before(action, self.seconds_left)
        if denied is not None:
            return Outcome(denied, "", 2)
        began, asking = time.monotonic(), self.hooks.seconds
        outcome = await self.protocol.use(action, self.seconds_left)
        self.tool_seconds += time.monotonic() - began - (self.hooks.seconds - asking)  # a block's calls ask hooks too
        return await self.hooks.after(action, outcome, self.seconds_left)

    def _take(self, completion: Completion, action: Action | None, outcome: Outcome | None) -> None:
        self.well_formed = self.well_formed or (action is not None and action.closed)
        calls = sendable(completion.tool_calls) if self.protocol.offered else ()
        self._say(Message(role="assistant", content=completion.text, tool_calls=calls))
        self.turns.append(
            Turn(
                completion=completion,
                action=action.text if action else None,
                observation=outcome.observation if outcome else None,
                exit_code=outcome.exit_code if outcome else None,
                segment=self.segment,
            )
        )
        if self.altered or calls != completion.tool_calls:
            self.segment += 1  # what goes back is not what was sampled, so no later prompt can continue its tokens

    async def held_back(self) -> bool:
        """Whether a Stop hook blocks the end; the next user turn is what the last command showed, and its message."""
        last, said = self.turns[-1], self.log[-1]
        ending = Occasion("Stop", output=self.output, exit_code=last.exit_code, acted=last.action is not None)
        decision = await self.hooks.ask(ending, self.seconds_left)
        if decision.hook is None:
            return False
        if said.tool_calls:
            for message in answers(said, last.observation or ""):
                self._say(message)
            self._say(Message(role="user", content=decision.reason))
            return True
        told = "\n\n".join(filter(None, (last.observation, decision.reason)))
        self._say(Message(role="user", content=told))
        return True

    def episode(self, end: Termination) -> Episode:
        completions = [turn.completion for turn in self.turns]
        cost = Cost(
            turns=len(self.turns),
            prompt_tokens=sum(len(c.prompt_ids) for c in completions),
            completion_tokens=sum(len(c.token_ids) for c in completions),
            model_seconds=self.model_seconds,
            sandbox_seconds=self.sandbox_seconds,
            seconds=time.monotonic() - self.began,
        )
        return Episode(
            tuple(self.turns),
            self.output,
            end,
            cost,
            self.well_formed,
            (*self.outputs, self.output),
            self.protocol.staged,
            tuple(self.hooks.failures),
        )


def _clean(completion: Completion) -> Completion:
    """A completion whose texts can be stored, whatever backend it is from."""
    calls = tuple(
        ToolCall(id=clean(call.id), name=clean(call.name), arguments=clean(call.arguments))
        for call in completion.tool_calls
    )
    return completion.model_copy(update={"text": clean(completion.text), "tool_calls": calls})
