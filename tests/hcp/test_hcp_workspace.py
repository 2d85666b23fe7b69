"""[workspace]: what is refused, what is placed, what is told of it afterwards."""

import hashlib

import pytest

from rsi.errors import UserError
from rsi.hcp import check, parse
from rsi.hcp.provenance import HIDDEN, provenance
from rsi.hcp.secret import redact

SHA = hashlib.sha256(b"x").hexdigest()


def entry(name="e", source="local:a", target="x", mode="copy", more=""):
    return (
        f'[[workspace.entries]]\nname = "{name}"\nsource = "{source}"\ntarget = "{target}"\nmode = "{mode}"\n{more}\n'
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[workspace.entries]]\nname = "e"\n', "workspace.entries.0.source"),
        (entry() + entry(target="y"), "stands twice"),
        (entry(target="../x"), "inside the workspace"),
        (entry(target="a/../../x"), "inside the workspace"),
        (entry(target="/etc/x"), "outside the workspace's root"),
        (entry(mode="stream"), "workspace.entries.0.mode"),
        (entry(mode="materialize"), "does not go with"),
        (entry(source="hcp.resources.embedded"), "does not go with"),
        (entry(source="ftp:x"), "source"),
        (entry(more='visibility = "public"'), "visibility"),
        (entry("a") + entry("b", more='visibility = "verifier"'), "verifier alone"),
        (entry("a", target="d") + entry("b", target="d/x", more='visibility = "verifier"'), "verifier alone"),
        (entry("a", target="d/x/y") + entry("b", target="d/x", more='visibility = "verifier"'), "verifier alone"),
        (
            entry(source="hcp.resources.embedded", mode="materialize", more='visibility = "verifier"'),
            "verifier alone",
        ),
        ('[[workspace.outputs]]\nname = "o"\npath = "x"\n' * 2, "stands twice"),
        ('[[workspace.outputs]]\nname = "o"\n', "workspace.outputs.0.path"),
    ],
)
def test_bad_manifests_are_one_clear_line(text, words):
    with pytest.raises(UserError, match=words):
        parse("version = 1\n" + text, "x")


def test_a_required_source_that_is_not_packed_is_refused():
    with pytest.raises(UserError, match=r"'e' needs 'local:a'.*pack"):
        parse("version = 1\n" + entry(), "x").harness()
    assert parse("version = 1\n" + entry(more="required = false"), "x").harness().files == ()
    assert parse("version = 1\n" + entry(more='visibility = "verifier"'), "x").harness().files == ()


def test_absolute_targets_below_the_root_and_embedded_resources():
    text = (
        'version = 1\n[workspace]\nroot = "/workspace"\n'
        + entry(source="hcp.resources.embedded", target="/workspace/res", mode="materialize")
        + f'[[resources.embedded]]\nkind = "settings"\npath = ".pi/settings.json"\ncontent = "x"\nsha256 = "{SHA}"\n'
    )
    (file,) = parse(text, "x").harness().files
    assert (file.path, file.place) == ("res/.pi/settings.json", "agent")


def test_provenance_tells_what_stood_where_and_hides_the_rest():
    text = (
        "version = 1\n"
        + entry("secret", "s3:https://user:pw@host/b?token=abcdefgh", "y", more="required = false")
        + entry("truth", "local:answers.txt", "z", more='visibility = "verifier"')
        + entry("a", more='mode = "mount"'.replace("mode", "description"))
        + f'[[rsi.files]]\nentry = "a"\npath = "."\ncontent = "x"\nsha256 = "{SHA}"\n'
        + '[[workspace.outputs]]\nname = "o"\npath = "out"\n[[workspace.outputs]]\nname = "big"\npath = "big"\n'
        + "max_file_bytes = 2\n"
        + '[[workspace.outputs]]\nname = "v"\npath = "out"\nvisibility = "verifier"\n'
    )
    told = provenance(parse(text, "x"), {"out/a": b"x", "big": b"xxx"})
    secret, truth, a = told["entries"]
    assert "pw" not in secret["source"] and "abcdefgh" not in secret["source"] and secret["realised"] == "missing"
    assert truth["source"] == HIDDEN and "answers" not in str(told)
    assert (a["target"], a["realised"], a["sha256"]) == ("x", "copy", {".": SHA})
    assert [(o["name"], o["status"]) for o in told["outputs"]] == [
        ("o", "collected"), ("big", "refused"), ("v", "collected"),
    ]  # fmt: skip
    assert told["outputs"][0]["sha256"] == {"out/a": SHA} and "sha256" not in told["outputs"][2]


def test_outputs_stay_in_the_workspace():
    form = parse('version = 1\n[[workspace.outputs]]\nname = "o"\npath = "/logs/x"\n', "x").form
    with pytest.raises(ValueError, match="outside"):
        form.workspace.outputs[0].declared("/workspace")
    harness = parse('version = 1\n[[workspace.outputs]]\nname = "o"\npath = "/logs/x"\n', "x").harness()
    assert harness.outputs == ()


@pytest.mark.parametrize("text", ["sk-abcdefgh12345678", "api_key=hunter2hunter2", "https://me:pw@host/x"])
def test_secrets_are_masked(text):
    assert "[redacted]" in redact(text) and "hunter2" not in redact(text) and ":pw@" not in redact(text)


def test_check_warns_of_shared_targets_and_of_what_looks_like_a_secret():
    text = "version = 1\n" + entry("a") + entry("b") + '[provider_options]\nheader = "sk-abcdefgh12345678"\n'
    notes = check(parse(text, "x"))
    assert "'workspace.entries[1].target'" in [note.split(":")[0] for note in notes]
    assert any(note.startswith("'provider_options.header': looks like a secret") for note in notes)
    assert "abcdefgh" not in str(notes)
