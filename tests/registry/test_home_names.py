"""A path is no URL: the store lies in the folder that was named. A home that can be none is one line."""

import os
import subprocess
import sys

import pytest
from test_mlflow_pairs import chapter

from rsi.config import home
from rsi.errors import UserError
from rsi.registry.engine import open_database
from rsi.registry.pairs import Mirror

NAMES = [
    "a%2Fb",
    "a?b=c",
    "a#b",
    "a&b",
    "a=b",
    "a:b",
    "a@b",
    "a b",
    "ä",
    "a'b",
    'a"b',
    "a[b]",
    "a{b}",
    "a+b",
    "%",
    "%%",
]
NAMES += ["a%00b", "?", "a;b", "sqlite:", "a,b", "~", "a\\b"]


@pytest.mark.parametrize("name", NAMES)
def test_the_store_lies_in_the_folder_that_was_named(tmp_path, monkeypatch, name):
    monkeypatch.setenv("RSI_HOME", str(tmp_path / name))
    open_database().close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name / "store.db").is_file()


def test_a_home_that_can_be_none_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for name in (
        "~nobody-here/x",
        tmp_path / "file",
        tmp_path / "link",
        tmp_path / ("x" * 300),
        tmp_path / "file" / "x",
    ):
        monkeypatch.setenv("RSI_HOME", str(name))
        with pytest.raises(UserError, match="RSI_HOME"):
            home()


# What a user id without an entry in passwd sees.
NOBODY = """
import pwd, runpy
def unknown(uid): raise KeyError(f"getpwuid(): uid not found: {uid}")
pwd.getpwuid = unknown
runpy.run_module("rsi", run_name="__main__")
"""


@pytest.mark.parametrize("command", [["status"], ["doctor"], ["ledger", "verify"]])
def test_a_user_without_a_home_is_told_in_one_line_what_to_set(command):
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "RSI_HOME")}
    asked = [sys.executable, "-c", NOBODY, *command]
    told = subprocess.run(asked, env=env, capture_output=True, text=True, check=False)
    assert told.returncode == 2 and told.stdout == ""
    assert told.stderr.count("\n") == 1 and "set RSI_HOME" in told.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "a%2Fb?c=d#e ä", "a:b@c", "%"])
def test_mlflows_mirror_lies_in_the_folder_that_was_named_too(tmp_path, tmp_path_factory, monkeypatch, name):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("RSI_HOME", str(tmp_path / name))
    said: list[str] = []
    mirror = Mirror(said.append)
    mirror.publish(chapter(tmp_path_factory.mktemp("adapters")))
    assert said == [] and [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name / "mlflow" / "mlflow.db").is_file()
