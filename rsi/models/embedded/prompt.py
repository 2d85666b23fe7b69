"""From messages to token ids and back, with the promise that a conversation's sampled ids stay its prefix.

Knows the tokenizer and its chat template only; imports no torch. A template is a program from elsewhere and may raise
anything: here it becomes one of our errors.
"""

from collections.abc import Sequence
from typing import Any

from rsi.errors import ContextOverflow, IntegrityError, RequestRefusedError, RsiError, UserError, reason
from rsi.text import clean
from rsi.types import Message, ModelRequest

# What every run needs of a template: our documents open with a system message, and episodes have several turns.
NEEDED = (("system", "user"), ("system", "user", "assistant", "user"))


class Renderer:
    """Renders requests for one tokenizer and a window of `window` tokens. Not safe for several threads at once."""

    def __init__(self, tokenizer: Any, window: int, extra_eos: Sequence[int] = ()) -> None:
        if not tokenizer.chat_template:
            raise UserError("model: its tokenizer has no chat template; choose an instruction-tuned model")
        self._tokenizer = tokenizer
        self.window = window
        self.eos = frozenset(extra_eos) | {tokenizer.eos_token_id} - {None}
        added = [t.content for t in tokenizer.added_tokens_decoder.values() if t.special]
        self._special = sorted({*tokenizer.all_special_tokens, *added}, key=len, reverse=True)

    def prompt_ids(self, request: ModelRequest) -> tuple[int, ...]:
        """The prompt, beginning with `prefix_ids`. Raises ContextOverflow; IntegrityError where the template would
        break that prefix (it trims, reorders or rewrites earlier turns); RequestRefusedError where template or
        tokenizer refuse this conversation, UserError where the template refuses what every run needs."""
        if request.tools:
            raise UserError(
                'model: its chat template knows no native tools; set \'rsi.protocol\' to "text" or "repl", or serve '
                "a model that has them behind an OpenAI-compatible URL"
            )
        if "" in request.choices:
            raise UserError("model request: an empty choice cannot be sampled; leave it out")
        ids = self._continued(request) if request.prefix_ids else self.encode(self._render(request.messages))
        if not ids:
            raise UserError("model: its chat template renders a conversation as nothing; choose another model")
        if len(ids) >= self.window:
            raise ContextOverflow(f"the prompt has {len(ids)} tokens, the model's window {self.window}")
        return ids

    def encode(self, text: str) -> tuple[int, ...]:
        try:
            return tuple(self._tokenizer.encode(text, add_special_tokens=False))
        except Exception as error:  # noqa: BLE001 the tokenizer is code from elsewhere, the text may be hostile
            raise RequestRefusedError(f"the model's tokenizer refuses this text ({reason(error)})") from None

    def decode(self, ids: Sequence[int]) -> str:
        return clean(str(self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)))

    def _continued(self, request: ModelRequest) -> tuple[int, ...]:
        """Prefix, then the template's text after the last assistant turn. The prefix is kept as sampled; its text must
        be what the template renders, or the model would continue another conversation than the one it had."""
        prefix, messages = request.prefix_ids, request.messages
        last = max((i for i, message in enumerate(messages) if message.role == "assistant"), default=-1)
        if last < 0:
            raise IntegrityError("prefix_ids were given, but no assistant message stands among the messages")
        past = self._render(messages[:last]) + self._neutral(messages[last].content)
        whole = self._render(messages)
        if not whole.startswith(past) or self._neutral(self.decode(prefix)) != self.decode(self.encode(past)):
            raise IntegrityError("the chat template breaks the conversation's prefix; sampled token ids cannot be kept")
        rest = self.encode(whole[len(past) :])
        if rest and prefix[-1] in self.eos and rest[0] == prefix[-1]:
            rest = rest[1:]  # the model has ended its turn itself
        return prefix + rest

    def _render(self, messages: Sequence[Message]) -> str:
        turns = [{"role": m.role, "content": self._neutral(m.content)} for m in messages]
        try:
            return self._apply(turns)
        except Exception as error:  # noqa: BLE001 see the module's docstring
            raise self._refusal(error) from None

    def _apply(self, turns: Sequence[dict[str, str]]) -> str:
        return str(self._tokenizer.apply_chat_template(list(turns), tokenize=False, add_generation_prompt=True))

    def _refusal(self, error: Exception) -> RsiError:
        """Whether the template refuses this one conversation, or cannot serve a run at all."""
        for roles in NEEDED:
            try:
                self._apply([{"role": role, "content": "Hello."} for role in roles])
            except Exception as why:  # noqa: BLE001
                return UserError(
                    f"model: its chat template refuses the roles {', '.join(roles)} ({reason(why)}); choose a model "
                    "whose template takes them, or give this one another template"
                )
        return RequestRefusedError(f"the model's chat template refuses this conversation ({reason(error)})")

    def _neutral(self, text: str) -> str:
        """Content may be hostile: a spelled-out control token is split, so that it cannot end or forge a turn."""
        for token in self._special:
            if token in text:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text
