"""What a document wants kept of a workspace: recorded with the attempt, the files in a folder of their own."""

import hashlib

import pytest
from rollout_fakes import HARNESS, PAIR, Forging, ToyBank, ToyModel, Tracking, make_task, toy_parts

from rsi.hcp import check, parse
from rsi.rollouts import Parts, make_spec, play
from rsi.rollouts.outputs import keep
from rsi.types import Attempt, Job

DOCUMENT = """version = 1
[workspace]
root = "/workspace"
[[workspace.outputs]]
name = "report"
path = "/workspace/out"
visibility = "public"
required = true
[[workspace.outputs]]
name = "truth"
path = "out/truth.txt"
visibility = "verifier"
[[workspace.outputs]]
name = "absent"
path = "none.txt"
required = true
[[workspace.outputs]]
name = "big"
path = "big"
max_file_bytes = 3
"""
WRITING = "mkdir -p out/in big; echo a > out/in/a.txt; echo hidden > out/truth.txt; echo long > big/b"


class Writing(ToyModel):
    async def generate(self, request):
        completion = await super().generate(request)
        return completion.model_copy(update={"text": f"```sh\n{WRITING}\n```"})


def job(document=DOCUMENT, needs_sandbox=True):
    harness = HARNESS.model_copy(update={"outputs": parse(document, "x").harness().outputs})
    task = make_task(1, needs_sandbox)
    spec = make_spec(task, PAIR, "test", 0, "plain")
    return Job(spec=spec, task=task, key=ToyBank().key(task), harness=harness, adapter="revision")


def parts(folder, provider=None):
    toy = toy_parts(Writing(), provider or Tracking())
    return Parts(toy.model, toy.provider, toy.verifier, outputs=folder)


async def test_declared_outputs_are_kept_and_told(tmp_path):
    attempt = await play(job(), parts(tmp_path / "outputs"))
    report, truth, absent, big = attempt.outputs
    assert (report.status, report.files) == ("collected", {"out/in/a.txt": hashlib.sha256(b"a\n").hexdigest()})
    assert (truth.status, truth.files, absent.status, absent.required) == ("collected", {}, "missing", True)
    assert big.status == "refused" and "larger than its limits" in big.why
    kept = [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()]
    assert kept == [f"outputs/{attempt.id}/out/in/a.txt"]
    assert Attempt.model_validate_json(attempt.model_dump_json()) == attempt
    again = await play(job(), parts(tmp_path / "outputs"))
    assert again.outputs == attempt.outputs and len(list((tmp_path / "outputs").iterdir())) == 1


@pytest.mark.parametrize("name", ["no folder", "a forged workspace", "no sandbox", "nothing declared"])
async def test_where_nothing_is_kept(tmp_path, name):
    document = "version = 1\n" if name == "nothing declared" else DOCUMENT
    given = parts(None if name == "no folder" else tmp_path, Tracking(Forging) if "forged" in name else None)
    attempt = await play(job(document, needs_sandbox=name != "no sandbox"), given)
    assert list(tmp_path.iterdir()) == []
    if name in ("no sandbox", "nothing declared"):
        assert attempt.outputs == () and '"outputs"' not in attempt.model_dump_json()
    else:
        assert len(attempt.outputs) == 4
    if "forged" in name:
        assert {output.status for output in attempt.outputs} == {"missing"}


def test_files_replace_those_of_an_earlier_try_whole(tmp_path):
    keep(tmp_path, "a", {"x": b"1", "y": b"2"})
    keep(tmp_path, "a", {"y/z": b"3"})
    assert [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()] == ["a/y/z"]


def test_what_no_run_collects_is_said():
    outside = 'version = 1\n[[workspace.outputs]]\nname = "o"\npath = "/logs/x"\n'
    (note,) = check(parse(outside, "x"))
    assert note.startswith("'workspace.outputs[0]': not collected")
    far = 'version = 1\n[[workspace.outputs]]\nname = "o"\npath = "x"\nbackend = "s3"\n'
    assert "its backend 'local'" in check(parse(far, "x"))[0]
    assert check(parse(DOCUMENT, "x")) == []
