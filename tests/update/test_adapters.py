import json
import os

import pytest

from rsi.errors import IntegrityError, TrainingError, UserError
from rsi.update import adapters
from rsi.update.adapters import open_revision, publish

CONFIG = {"r": 4, "target_modules": ["v_proj", "q_proj"], "base_model_name_or_path": "/somewhere/base"}


def saved(folder, weights=b"weights", **config):
    folder.mkdir(parents=True)
    (folder / "adapter_model.safetensors").write_bytes(weights)
    (folder / "adapter_config.json").write_text(json.dumps({**CONFIG, **config}))
    (folder / "README.md").write_text("card")
    (folder / "optimizer.pt").write_bytes(b"state")
    return folder


def test_a_revision_is_named_by_content_and_holds_no_training_state(tmp_path):
    revision = publish(saved(tmp_path / "a"), tmp_path / "out", "parent", 3, [{"loss": 0.5}])
    files = sorted(path.name for path in (tmp_path / "out" / revision.name).iterdir())
    assert files == ["adapter_config.json", "adapter_model.safetensors", "revision.json"]
    assert open_revision(tmp_path / "out", revision.name) == revision
    assert (revision.parent, revision.steps, revision.metrics) == ("parent", 3, ({"loss": 0.5},))


def test_the_name_is_the_same_on_every_machine_and_another_for_other_content(tmp_path):
    first = publish(saved(tmp_path / "a"), tmp_path / "out")
    elsewhere = saved(tmp_path / "b", base_model_name_or_path="/other/path", target_modules=["q_proj", "v_proj"])
    assert publish(elsewhere, tmp_path / "out2").name == first.name
    assert publish(saved(tmp_path / "c", weights=b"others"), tmp_path / "out").name != first.name
    assert publish(saved(tmp_path / "d", r=8), tmp_path / "out").name != first.name
    text = (tmp_path / "out" / first.name / "adapter_config.json").read_text()
    assert "/somewhere" not in text


def test_publishing_the_same_content_again_is_the_same_revision(tmp_path):
    first = publish(saved(tmp_path / "a"), tmp_path / "out", steps=3)
    assert publish(saved(tmp_path / "b"), tmp_path / "out", steps=9) == first


@pytest.mark.parametrize("moment", ["copyfile", "rename"])
def test_a_killed_export_leaves_nothing_visible_and_the_next_one_succeeds(tmp_path, moment):
    folder = saved(tmp_path / "a")
    child = os.fork()
    if child == 0:  # a real process that dies at this very call
        if moment == "copyfile":
            adapters.shutil.copyfile = lambda *_: os._exit(9)
        else:
            adapters.Path.rename = lambda *_: os._exit(9)
        publish(folder, tmp_path / "out")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert [path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")] == []
    revision = publish(folder, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [revision.name]


@pytest.mark.parametrize("file", ["adapter_model.safetensors", "adapter_config.json"])
def test_a_changed_file_is_found(tmp_path, file):
    revision = publish(saved(tmp_path / "a"), tmp_path / "out")
    (tmp_path / "out" / revision.name / file).write_bytes(b"{}")
    with pytest.raises(IntegrityError, match=file):
        open_revision(tmp_path / "out", revision.name)


def test_a_revision_under_another_name_is_found(tmp_path):
    revision = publish(saved(tmp_path / "a"), tmp_path / "out")
    (tmp_path / "out" / revision.name).rename(tmp_path / "out" / "forged")
    with pytest.raises(IntegrityError, match="its content is not what its name says"):
        open_revision(tmp_path / "out", "forged")


def test_what_is_no_adapter_is_refused(tmp_path):
    with pytest.raises(UserError, match="no adapter revision"):
        open_revision(tmp_path, "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrainingError, match="holds no adapter_model"):
        publish(tmp_path / "empty", tmp_path / "out")
