"""What a chat template or a tokenizer raises becomes one of our errors, of the right kind, with their words."""

import jinja2.ext
import pytest
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rsi.errors import IntegrityError, RequestRefusedError, UserError
from rsi.models.embedded.prompt import Renderer
from rsi.types import Message, ModelRequest, Sampling

GOOD = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"


class CharacterTokenizer:
    """As much of a tokenizer as a renderer needs; its templates run in the sandbox that transformers uses."""

    eos_token_id, all_special_tokens, added_tokens_decoder = 0, ("</s>",), {}

    def __init__(self, template):
        self.chat_template = template

    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        def raise_exception(message):
            raise TemplateError(message)

        environment = ImmutableSandboxedEnvironment(extensions=[jinja2.ext.loopcontrols])
        environment.globals |= {"raise_exception": raise_exception}
        return environment.from_string(self.chat_template).render(messages=messages)

    def encode(self, text, add_special_tokens):
        if "unspeakable" in text:
            raise Exception("no token for it")  # as the tokenizers library does
        return list(text.encode())

    def decode(self, ids, **unused):
        return bytes(ids).decode("utf8", "replace")


def conversation(*roles, content="Hello."):
    messages = tuple(Message(role=role, content=content) for role in roles)
    return ModelRequest(messages=messages, sampling=Sampling(), seed=1)


def refused(template, request):
    with pytest.raises((UserError, RequestRefusedError)) as caught:
        Renderer(CharacterTokenizer(template), 1000).prompt_ids(request)
    assert "\n" not in str(caught.value)
    return caught.value


CANNOT_SERVE = {
    "raises": ("{{ raise_exception('no system role') }}", "no system role"),
    "raises for a system message": (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + GOOD,
        "no system role",
    ),
    "raises without words": ("{{ raise_exception('') }}", "TemplateError"),
    "raises with lines": ("{{ raise_exception('\\n\\n the first\\nthe second') }}", "the first"),
    "raises not even text": ("{{ raise_exception(none) }}", "TemplateError"),
    "does not parse": ("{% for m in %}", "xpected an expression"),
    "is not closed": ("{% for m in messages %}", "nd of template"),
    "an unknown tag": ("{% generation %}x", "unknown tag"),
    "an unknown filter": ("{{ messages | no_such }}", "no_such"),
    "an unknown test": ("{{ 1 is no_such }}", "no_such"),
    "an undefined name": ("{{ strftime_now('%d') }}", "strftime_now"),
    "of an undefined name": ("{{ nothing.at.all }}", "nothing"),
    "a division": ("{{ 1 / 0 }}", "division"),
    "a sum of types": ("{{ messages + 1 }}", "concatenate"),
    "an index": ("{{ messages[0].content.no.such }}", "has no attribute"),
    "a long range": ("{{ range(99999999) | list }}", "ange"),
    "a recursion": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
    "an unsafe attribute": ("{{ messages.__class__.__mro__ }}", "unsafe"),
    "a changed list": ("{{ messages.append(1) }}", "unsafe"),
    "a missing include": ("{% include 'other' %}", "loader"),
    "nothing": ("{# nothing #}", "nothing"),
    "the second turn": ("{% if messages|length > 3 %}{{ raise_exception('one turn only') }}{% endif %}" + GOOD, "one"),
}


@pytest.mark.parametrize(("template", "words"), CANNOT_SERVE.values(), ids=CANNOT_SERVE)
def test_a_template_that_cannot_serve_a_run_is_one_line_with_its_words(template, words):
    error = refused(template, conversation("system", "user", "assistant", "user"))
    assert isinstance(error, UserError) and words in str(error) and "chat template" in str(error)


ALTERNATES = (
    "{% for m in messages[1:] %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}{% endfor %}" + GOOD
)


@pytest.mark.parametrize("roles", [("system", "user", "user"), ("system", "assistant"), ("user", "assistant", "user")])
def test_a_conversation_that_the_template_refuses_is_refused_alone(roles):
    error = refused(ALTERNATES, conversation(*roles))
    assert isinstance(error, RequestRefusedError) and "roles must alternate" in str(error)
    assert Renderer(CharacterTokenizer(ALTERNATES), 1000).prompt_ids(conversation("system", "user"))


def test_a_text_that_the_tokenizer_refuses_is_refused_alone():
    error = refused(GOOD, conversation("user", content="unspeakable"))
    assert isinstance(error, RequestRefusedError) and "no token for it" in str(error)


def test_a_template_without_a_system_role_serves_those_who_need_none():
    template, _ = CANNOT_SERVE["raises for a system message"]
    assert Renderer(CharacterTokenizer(template), 1000).prompt_ids(conversation("user"))


def test_a_template_that_rewrites_turns_is_still_a_broken_promise():
    rewriting = "{% for m in messages %}<{{ m.role }} {{ messages|length }}>{{ m.content }}{% endfor %}"
    renderer = Renderer(CharacterTokenizer(rewriting), 1000)
    first = renderer.prompt_ids(conversation("user"))
    again = conversation("user", "assistant", "user").model_copy(update={"prefix_ids": (*first, 65)})
    with pytest.raises(IntegrityError, match="breaks"):
        renderer.prompt_ids(again)
