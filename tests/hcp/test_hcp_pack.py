"""Portable documents: paths, embedding, and what may not be read."""

import base64
import hashlib
import io
import tarfile
import zipfile

import pytest

from rsi.errors import UserError
from rsi.hcp import check, load, parse
from rsi.hcp.pack import pack, write

DOCUMENT = """# kept
version = 1
run = { cwd = "agent" }
[skills]
paths = ["./skills/reviewer", "skills/single.md"]
[prompts]
paths = ["prompts"]
[resources]
system_prompt = "One."
append_system_prompt_paths = ["extra.md"]
agents_files = ["AGENTS.md"]
[hooks.PreToolUse.look]
command = "python3 ./hooks/look.py --fast"
[[workspace.entries]]
name = "data"
source = "local:data"
target = "in"
mode = "copy"
[[workspace.entries]]
name = "tool"
source = "local:tool.sh"
target = "bin/tool.sh"
mode = "mount"
visibility = "runtime"
[[workspace.entries]]
name = "truth"
source = "local:truth.txt"
target = "truth.txt"
mode = "copy"
visibility = "verifier"
"""
FILES = {
    "agent/skills/reviewer/SKILL.md": "review it",
    "agent/skills/reviewer/notes.txt": "not a skill",
    "agent/skills/single.md": "single",
    "agent/prompts/deploy.md": "---\ndescription: d\n---\nDeploy $1 with $@",
    "agent/extra.md": "Extra.",
    "agent/AGENTS.md": "House rules.",
    "agent/hooks/look.py": "print(1)",
    "agent/data/a.txt": "a",
    "agent/data/deep/b.bin": "\x00\x01",
    "agent/tool.sh": "#!/bin/sh\n",
    "agent/truth.txt": "VERIFIER-CANARY",
}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "agent/tool.sh").chmod(0o755)
    (tmp_path / "doc.toml").write_text(DOCUMENT)
    return tmp_path


def packed(project, text=None):
    document = parse(text, "doc.toml") if text else load(project / "doc.toml")
    return pack(document, project, project)


def test_files_named_by_path_are_embedded_and_realised(project):
    document = packed(project)
    harness = document.harness()
    assert harness.system == "One.\n\nExtra.\n\nHouse rules."
    assert [(s.name, s.text) for s in harness.skills] == [("reviewer", "review it"), ("single", "single")]
    assert [(p.name, p.text) for p in harness.prompts] == [("deploy", "Deploy $1 with $@")]
    assert harness.hooks[0].command == "python3 /tmp/hcp/.pi/hooks/PreToolUse/look.py --fast"
    files = {(f.place, f.path): f for f in harness.files}
    assert set(files) == {
        ("runtime", ".pi/hooks/PreToolUse/look.py"),
        ("agent", "in/a.txt"),
        ("agent", "in/deep/b.bin"),
        ("runtime", "bin/tool.sh"),
    }
    assert files["agent", "in/deep/b.bin"].encoding == "base64" and files["runtime", "bin/tool.sh"].mode == 0o755
    assert "# kept" in document.text
    assert [note.split(":")[0] for note in check(document)] == ["'workspace.entries[1]'", "'workspace.entries[2]'"]


def test_what_is_for_the_verifier_alone_goes_nowhere(project):
    document = packed(project)
    assert "CANARY" not in document.text and "CANARY" not in document.harness().model_dump_json()


def test_packing_is_repeatable_and_travels(project, tmp_path_factory):
    one = packed(project)
    assert packed(project).text == one.text
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "agent").mkdir()
    write(elsewhere / "doc.toml", one.text)
    again = load(elsewhere / "doc.toml")
    assert pack(again, elsewhere, elsewhere) is again
    assert again.harness() == one.harness()
    before = (elsewhere / "doc.toml").stat().st_mtime_ns
    write(elsewhere / "doc.toml", one.text)
    assert (elsewhere / "doc.toml").stat().st_mtime_ns == before
    assert [path.name for path in elsewhere.iterdir() if path.is_file()] == ["doc.toml"]


def test_a_digest_covers_the_files(project):
    one = packed(project)
    (project / "agent/data/a.txt").write_text("b")
    assert packed(project).digest != one.digest


def test_an_unpacked_document_is_no_harness(project):
    with pytest.raises(UserError, match=r"doc.toml: 'skills.paths' names .*pack"):
        load(project / "doc.toml").harness()


def test_a_document_without_paths_is_left_as_it_is(project):
    document = parse('version = 1\n[resources]\nsystem_prompt = "x"\n', "x")
    assert pack(document, project, project) is document


ENTRY = 'version = 1\n[[workspace.entries]]\nname = "e"\nsource = "{}"\ntarget = "x"\nmode = "{}"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[skills]\npaths = ["none"]\n', "skills.paths.*none.*correct"),
        ('[skills]\npaths = ["../x"]\n', "outside the project"),
        ('[skills]\npaths = ["/etc/passwd"]\n', "outside the project"),
        ('[skills]\npaths = ["task_banks/b.md"]\n', "no document may read"),
        ('[skills]\npaths = ["link.md"]\n', "outside the project"),
        ('[skills]\npaths = ["a\\u0000"]\n', "zero byte"),
        ('[skills]\npaths = ["home/salt.md"]\n', "own home"),
        ('[skills]\npaths = ["bank/deep/b.md"]\n', "task bank"),
        (ENTRY.format("local:agent/..//bank", "copy")[12:], "task bank"),
        ('[resources]\nagents_files = ["."]\n', "whole project"),
        ('[run]\ncwd = ".."\n', "run.cwd"),
        ('[run]\ncwd = "none"\n', "run.cwd"),
        ('[run]\ncwd = "a\\u0000"\n', "run.cwd"),
        ('[session]\nsnapshot_path = "none.json"\n', "session.*none.json"),
        (ENTRY.format("local:none", "copy")[12:], "'e' is required.*does not exist"),
        (ENTRY.format("local:agent", "copy")[12:] + "max_files = 2\n", "holds more than 2 files"),
        (ENTRY.format("local:agent/tool.sh", "copy")[12:] + f'sha256 = "{"0" * 64}"\n', "sha256"),
        (ENTRY.format("local:agent/tool.sh", "extract")[12:], "no archive"),
        (ENTRY.format("local:agent", "extract")[12:], "no archive"),
        (ENTRY.format("s3:bucket/x", "copy")[12:], "no backend"),
        (ENTRY.format("inline:x", "copy")[12:], "no backend"),
    ],
)
def test_what_may_not_be_read_is_one_clear_line(project, text, words, monkeypatch):
    monkeypatch.setenv("RSI_HOME", str(project / "home"))
    for name in ("home/salt.md", "bank/bank.toml", "bank/deep/b.md"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("secret")
    (project / "task_banks").mkdir()
    (project / "task_banks/b.md").write_text("reference")
    (project / "link.md").symlink_to("/etc/hostname")
    with pytest.raises(UserError, match=words) as caught:
        packed(project, "version = 1\n" + text)
    assert str(caught.value).startswith("doc.toml: ") and "\n" not in str(caught.value)


def test_optional_sources_may_be_missing(project):
    document = packed(project, ENTRY.format("local:none", "copy") + "required = false\n")
    assert document.harness().files == ()


def test_paths_begin_at_cwd_and_cwd_at_the_file(project):
    text = 'version = 1\n[run]\ncwd = "agent/prompts"\n[resources]\nsystem_prompt_path = "../extra.md"\n'
    assert packed(project, text).harness().system == "Extra."
    alias = 'version = 1\ncwd = "agent"\n[resources]\nsystem_prompt_path = "extra.md"\n'
    assert packed(project, alias).harness().system == "Extra."


def tarred(*members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data, kind in members:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname, info.mode = len(data), kind, "/etc/passwd", 0o755
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def test_archives_are_unpacked(project):
    (project / "a.tar.gz").write_bytes(tarred(("d/x.txt", b"x", tarfile.REGTYPE), ("d", b"", tarfile.DIRTYPE)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("d/x.txt", "x")
    (project / "a.zip").write_bytes(buffer.getvalue())
    sha = hashlib.sha256((project / "a.tar.gz").read_bytes()).hexdigest()
    for name, more in (("a.tar.gz", f'sha256 = "{sha}"\n'), ("a.zip", "")):
        (file,) = packed(project, ENTRY.format(f"local:{name}", "extract") + more).harness().files
        assert (file.path, file.content) == ("x/d/x.txt", "x")


@pytest.mark.parametrize(
    "member", [("../x", b"x", tarfile.REGTYPE), ("/x", b"x", tarfile.REGTYPE), ("x", b"", tarfile.SYMTYPE),
               ("x", b"", tarfile.FIFOTYPE), ("x", b"x" * 2_000_000, tarfile.REGTYPE)],
)  # fmt: skip
def test_hostile_archives_are_refused(project, member):
    (project / "a.tar.gz").write_bytes(tarred(member))
    with pytest.raises(UserError, match=r"doc\.toml"):
        packed(project, ENTRY.format("local:a.tar.gz", "extract"))


def test_embedded_base64_of_a_workspace_survives(project):
    (project / "blob").write_bytes(bytes(range(256)))
    (file,) = packed(project, ENTRY.format("local:blob", "copy")).harness().files
    assert (file.path, base64.b64decode(file.content)) == ("x", bytes(range(256)))
