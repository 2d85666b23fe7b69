"""The harness configuration: all that the episode loop reads."""

from typing import Literal

from pydantic import Field

from rsi.types.helpers import Helper
from rsi.types.model import Message, Sampling
from rsi.types.record import Record


class Exemplar(Record):
    request: str
    response: str


class Skill(Record):
    """Text shown when one of `triggers` (words) stands in the request."""

    name: str
    triggers: tuple[str, ...]
    text: str


class StopHook(Record):
    """May block the end of an episode `max_blocks` times, saying `message`. `command` runs in the sandbox (exit 0 lets
    the episode end); `builtin` is one of the harness's own conditions. Exactly one of both; none sees the verifier."""

    name: str
    message: str
    builtin: Literal["no_action", "empty_output", "error_exit"] | None = None
    command: str | None = None
    timeout: float = Field(5.0, gt=0, le=60)
    max_blocks: int = Field(1, ge=1, le=5)
    fail: Literal["open", "closed"] = "open"


HookEvent = Literal[
    "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
    "Stop", "PreCompact", "PostCompact",
]  # fmt: skip


class Hook(Record):
    """A command in the sandbox, or a built-in condition (Stop only), at an event of the episode. Exactly one of both.

    `matcher` names tools, `condition` tool and argument (`bash(rm *)`); empty ones hold always. `max_blocks` caps how
    often it may block; `fail` says what counts where it gives no answer; `run_async` ones are not waited for."""

    event: HookEvent
    name: str
    matcher: str = ""
    command: str | None = None
    timeout: float = Field(5.0, gt=0, le=60)
    condition: str = ""
    run_async: bool = False
    fail: Literal["open", "closed"] = "open"
    max_blocks: int = Field(1, ge=1, le=5)
    message: str = ""
    builtin: Literal["no_action", "empty_output", "error_exit"] | None = None


class Prompt(Record):
    """A request that begins with `/name` is replaced by `text`, its arguments put in."""

    name: str
    text: str


class PlacedFile(Record):
    """A file that the document brings into the sandbox: for the agent below /task, for the runtime below /tmp/hcp."""

    path: str  # relative, without `..`
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    mode: int = Field(0o644, ge=0, le=0o777)
    place: Literal["agent", "runtime"] = "agent"


Visibility = Literal["runtime", "verifier", "public"]


class DeclaredOutput(Record):
    """Files of the workspace that are kept after an episode: the file or folder `path`, within the limits."""

    name: str
    path: str  # relative to the workspace
    required: bool = False
    visibility: Visibility = "runtime"
    max_files: int
    max_file_bytes: int
    max_total_bytes: int


class McpServer(Record):
    """A server of tools that speaks JSON lines over stdio, started inside the sandbox."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)


class Budgets(Record):
    """Limits of one episode; tokens are sampled tokens, `seconds` wall time inside the sandbox and model together."""

    turns: int = Field(1, ge=1, le=50)
    tokens: int = Field(128, ge=1, le=32768)
    seconds: float = Field(120.0, gt=0, le=3600)
    output_chars: int = Field(2000, ge=100, le=100_000)  # of tool output shown to the model, per command


class Memory(Record):
    """Compaction of a prompt that the window does not hold: the last `keep_turns` exchanges stay as they were, earlier
    ones become an extract of at most `summary_chars` characters. Without it a full window ends the episode.

    `first` says which earlier messages the extract prefers: the latest, or what the user told in a conversation."""

    keep_turns: int = Field(4, ge=1, le=50)
    summary_chars: int = Field(1500, ge=0, le=20_000)
    first: Literal["latest", "told"] = "latest"


class HarnessConfig(Record):
    """A parsed HCP document: all that the episode loop reads. `document_digest` identifies the whole document."""

    document_digest: str
    system: str
    answer_format: str = ""
    protocol: Literal["text", "repl", "tools"] = "text"
    tools: tuple[str, ...] = ("shell",)  # of: shell, read, write; empty for banks without a sandbox
    exemplars: tuple[Exemplar, ...] = ()
    shots: int = Field(0, ge=0, le=8)  # how many exemplars a request is shown
    skills: tuple[Skill, ...] = ()
    hooks: tuple[Hook, ...] = ()  # of every event, Stop included; by event, then by name
    stop_hooks: tuple[StopHook, ...] = ()  # the Stop ones again
    sampling: Sampling = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=64)
    budgets: Budgets = Budgets()
    memory: Memory | None = None
    list_files: bool = False  # whether the request is followed by the names of the workspace's files
    prompts: tuple[Prompt, ...] = ()
    files: tuple[PlacedFile, ...] = ()
    restored: tuple[Message, ...] = ()  # of an earlier session, shown before the request
    mcp: tuple[McpServer, ...] = ()
    outputs: tuple[DeclaredOutput, ...] = Field((), exclude_if=lambda value: not value)
    env_set: dict[str, str] = Field(default_factory=dict)  # of every command in the sandbox
    helpers: tuple[Helper, ...] = Field((), exclude_if=lambda value: not value)  # of the repl protocol
    env_names: tuple[str, ...] = ()  # asked for; only those that the operator allows reach a sandbox
