"""What an agent does to its sandbox, and to the harness's own channel in it, is data: each is a scored attempt."""

import json
from itertools import product

import pytest
from hostile import play_hostile

PROTOCOLS = ("text", "repl", "tools")


def some_slow(cases, every=24):
    """One in `every` cases for the default run; all are played where slow ones are."""
    for n, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        name = "-".join(ascii(value)[1:40] for value in values)
        yield pytest.param(*values, id=name, marks=[pytest.mark.slow] if n % every else [])


BLOCKS = [
    "print(chr(0xd83d))",
    "print('a\\0b\\r\\x1b[2J\\u202e')",
    "print({chr(0xdfff): [chr(0xd800)]})",
    "raise ValueError(chr(0xd83d))",
    "open(b'caf\\xe9', 'w')\nimport os\nfor n in os.listdir(): print(n)",
    "globals()[chr(0xd83d)] = 1",
    "globals()[5] = 1",
    "globals().clear()",
    "print(10 ** 5000)",
    "print('x' * 3_000_000)",
    "print(chr(0x1f600) * 30_000)",
    "import sys; sys.exit(3)",
    "import os; os._exit(0)",
    "import os; os.kill(os.getpid(), 9)",
    "import os; os.kill(os.getpid(), 19)",
    "import os; os.kill(-1, 9)",
    "import os; os.closerange(0, 99)",
    "import os; os.fork()",
    'import os\nfor fd in range(3, 30):\n    try: os.write(fd, b\'{"kind": "call"}\')\n    except OSError: pass',
    "import json; json.dumps = None",
    "import json; json.loads = lambda data: {}",
    'import json; json.dumps = lambda value: \'{"kind": "done", "output": 3, "names": {}, "cut": "x"}\'',
    "import json; json.dumps = lambda value: '{\"kind\": [1]}'",
    "import json; json.dumps = lambda value: '[' * 9999",
    "import json; json.dumps = lambda value: '9' * 9999",
    'import json; json.dumps = lambda value: \'{"kind": "call", "tool": {"a": 1}, "arguments": [2]}\'',
    'import json; json.dumps = lambda value: \'{"kind": "done", "cut": \' + \'9\' * 900 + \', "names": [[], 3]}\'',
    "import json; json.dumps = lambda value: chr(0xd800)",
    "import sys; sys.stdout = sys.stderr = None; print(1)",
    "class A:\n    def __repr__(self): raise KeyError\nA()",
    "class A(BaseException):\n    def __str__(self): raise KeyError\nraise A",
    "def f(): f()\nf()",
    "import threading, time; threading.Thread(target=time.sleep, args=(99,)).start()",
    "import shutil, glob\nfor f in glob.glob('/tmp/repl-*'): shutil.rmtree(f)",
    "import glob\nfor f in glob.glob('/tmp/repl-*/client.py'): open(f, 'w').write('print({)')",
    "import glob\nfor f in glob.glob('/tmp/repl-*/client.py'): open(f, 'w').write('print(chr(255) * 999999)')",
    "import glob\nfor f in glob.glob('/tmp/repl-*/pid'): open(f, 'w').write('-1')",
    "open('/tmp/f', 'w').write('x' * 60_000_000)",
    "import os; os.makedirs('d/' * 500)",
    "import os; os.mkfifo('p')",
    "import os; os.symlink('/', 'l')",
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "import resource; resource.setrlimit(resource.RLIMIT_AS, (1000, 1000))",
    "import builtins; builtins.len = None",
    "import builtins; del builtins.str",
    "save_tool(name=chr(0xd83d), code='x')",
    "save_tool(name='f', code='def f():\\n    return ' + repr(chr(0xd83d)))",
    "save_tool(name='f', code='def f(): pass', extra=float('nan'))",
    "save_tool(name=float('inf'), code=None)",
    "a = []\na = [a]\nfor _ in range(500): a = [a]\nsave_tool(name=a, code='')",
    "while True: pass",
    "while True:\n    try: save_tool(name='')\n    except ToolError: pass",
    "'\\0'",
    "\ud83d",
    "print(1",
]


@pytest.mark.parametrize("code", some_slow(BLOCKS))
async def test_a_block_of_code(provider, code):
    slow = any(word in code for word in ("while True", ", 19)", '"call'))
    attempt = await play_hostile(
        provider, "repl", f"```python\n{code}\n```\n", "```python\nprint(3)\n```\n", seconds=0.6 if slow else 4, turns=2
    )
    assert attempt.turns[0].observation


COMMANDS = [
    "exit 3",
    "kill -9 $$",
    "kill -9 -1",
    "kill -STOP $$",
    "kill -STOP 1; kill -9 1; kill -INT 1",
    "exec >&- 2>&-; echo x",
    "for n in $(seq 3 60); do echo 'x 0' >&$n; done",
    "ulimit -n 0; ls",
    "ulimit -u 0; ls",
    "trap '' TERM INT HUP; sleep 99",
    "printf '\\xff\\xed\\xa0\\x80\\0\\r\\n'",
    "touch $'caf\\xe9' $'a\\nb' $'\\xed\\xa0\\x80'; ls",
    "echo x > $'in\\xe9'; mkdir $'d\\xe9'; echo y > $'d\\xe9/f'",
    "head -c 99999999 /dev/zero | tr '\\0' x",
    "head -c 999999999 /dev/zero > /tmp/f; head -c 999999999 /dev/zero > f",
    "rm -rf /task /tmp; cd /; ls",
    "chmod 000 /task",
    "chmod 000 /tmp; rm -rf /tmp",
    "cd /; mv /task /tmp/t; rmdir /task",
    "mkfifo p; ln -s / l; ln -s l m",
    "yes > f & sleep 0.1; kill %1",
    "echo 'x' > ~/.bashrc; echo 'exit 9' > .profile; export BASH_ENV=/task/.bashrc",
    "mkdir -p bin; printf '#!/bin/sh\\nexit 9' > bin/python3; chmod +x bin/*; PATH=/task/bin:$PATH; python3",
    "seq 99999 >&2",
    ":(){ :|:& };:",
    "",
    "\n",
    "'",
    "a \ud83d\0b",
    "x" * 200_000,
]


@pytest.mark.parametrize(("protocol", "command"), some_slow(product(PROTOCOLS, COMMANDS)))
async def test_a_command(provider, command, protocol):
    slow = any(word in command for word in ("sleep 99", "STOP $$", ":|:"))
    native = protocol == "tools"
    first = [("shell", json.dumps({"command": command}))] if native else f"```sh\n{command}\n```\n"
    then = [("shell", '{"command": "echo 3"}')] if native else "```sh\necho 3\n```\n"
    if protocol == "repl":
        then = "```python\nprint(3)\n```\n"
    await play_hostile(provider, protocol, first, then, seconds=0.6 if slow else 4, turns=2)


CALLS = [
    ("shell", "{"), ("shell", ""), ("shell", "null"), ("shell", '{"command": "\\ud83d"}'), ("shell", "\ud83d"),
    ("shell", '{"command": "echo \\u0000"}'), ("shell", '{"command": ' + "[" * 9000), ("shell", "[" * 100_000),
    ("shell", '{"command": "' + "x" * 1_000_000 + '"}'), ("shell", '{"command": ' + "9" * 99_999 + "}"),
    ("read", '{"path": "\\ud800"}'), ("read", '{"path": ""}'), ("read", '{"path": "/etc/passwd"}'),
    ("read", '{"path": "' + "a/" * 3000 + '"}'), ("read", '{"path": "a\\u0000b"}'), ("read", '{"path": "."}'),
    ("write", '{"path": "..", "content": "x"}'), ("write", '{"path": "a\\n\\ud83d", "content": "\\ud83d"}'),
    ("write", '{"path": "' + "n" * 300 + '", "content": ""}'), ("write", '{"path": "f"}'),
    ("write", '{"path": "f", "content": "' + "x" * 200_000 + '"}'), ("", ""), ("\ud83d", "\ud83d"),
    ("x" * 100_000, "{}"), ("shell\0", "{}"), ("answer", '{"answer": 3}'), ("mcp__s__t", '{"a": NaN}'),
]  # fmt: skip


@pytest.mark.parametrize("call", some_slow([(call,) for call in CALLS], every=6))
async def test_a_native_call(provider, call):
    attempt = await play_hostile(provider, "tools", [call], [call, call], "<answer>3</answer>")
    assert attempt.score.passed, "it is told what is wrong and goes on"


TEXTS = [
    "", "\ud83d", "\0", "```sh\n" + "\ud83d" * 9 + "\n```\n", "<answer>\ud83d</answer>", "<answer>\0</answer>",
    "<answer>" + "9" * 100_000 + "</answer>", "<answer>" + "[" * 50_000 + "</answer>", "```read \ud83d\n```\n",
    "```write \0\n\ud83d\n```\n", "```write a\n" + "x" * 300_000 + "\n```\n", "```sh\n" + "x" * 1_000_000,
    "```read " + "d/" * 5000 + "\n```\n", "```python\n\ud83d\n```\n", "```call save_tool\n{\n```\n",
    "```call \ud83d\n\ud83d\n```\n", "```call x\n" + "[" * 100_000 + "\n```\n", "\r", "\u2028```sh\u2028ls\u2028```",
    "```sh\r\nls\r\n```\r\n", "`" * 100_000, "<answer>" * 50_000, "```write .\nx\n```\n", "```read ~\n```\n",
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "text"), some_slow(product(PROTOCOLS, TEXTS)))
async def test_a_reply(provider, text, protocol):
    await play_hostile(provider, protocol, text, "<answer>3</answer>")


_FOLDER = "n" * 200
LEFT = {
    "a path that fits the kernel alone": f"for i in {{1..18}}; do mkdir {_FOLDER}; cd {_FOLDER}; done; echo x > {_FOLDER}",  # noqa: E501
    "a path in other letters": "d=$(printf '\\u00e4%.0s' {1..120}); for i in {1..16}; do mkdir $d; cd $d; done; echo x > f",  # noqa: E501
    "many folders": "for i in {1..63}; do mkdir nnnnnnnnnnnnnnnnnnnn; cd nnnnnnnnnnnnnnnnnnnn; done; echo x > f",
    "the longest name": "echo x > $(printf 'n%.0s' {1..255})",
    "a link with a long name": f"echo x > a; for i in {{1..8}}; do mkdir {_FOLDER}; cd {_FOLDER}; done; ln -s /task/a b",  # noqa: E501
    "names of the shell": "mkdir -- -r; echo x > '-r/ '; echo x > ...; echo x > '~'; echo x > '*'; echo x > 'C:\\a'",
    "names that are unseen": "echo x > $'a\\nb'; echo x > $'\\x1b[2J'; echo x > $'\\u202e'; mkdir $'x\\r'; echo x > $'x\\r/y'",  # noqa: E501
    "a file that is two": "mkdir d; echo x > d/f; ln -s d e; ln -s d/f g; ln d/f h",
    "files that nobody may read": "echo x > a; chmod 0 a; mkdir d; echo x > d/b; chmod 0 d",
    "unusual permissions": "echo x > a; chmod 7777 a; mkdir d; chmod 1000 d",
    "a hole": "truncate -s 90000 a",
    "too large a hole": "truncate -s 9000000 a",
    "too many files": "touch {1..200}",
    "an attribute": "python3 -c \"import os; open('a', 'w').close(); os.setxattr('a', 'user.x', b'1')\"",
}


@pytest.mark.parametrize("name", LEFT)
async def test_a_workspace_of_which_files_are_kept(provider, name, tmp_path):
    home = tmp_path.joinpath(*["h" * 200] * 3)
    attempt = await play_hostile(provider, "text", f"```sh\n({LEFT[name]}); echo 3\n```\n", turns=1, outputs=home)
    assert attempt.score.passed, attempt.score
    (output,) = attempt.outputs
    kept = sum(path.is_file() for path in home.rglob("*")) if home.exists() else 0
    assert output.status == ("collected" if kept else "refused") and kept == len(output.files)
