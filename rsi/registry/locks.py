"""Whether a folder's file system has the locks that SQLite needs. Knows files only."""

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NO_LOCKS = "its file system has no locks that SQLite can use; set RSI_HOME to a folder on a local disk"
# By the kernel's names. 9p, virtiofs and most of FUSE lock within one machine, or say that they do.
REMOTE = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs", "glusterfs", "fuse", "virtiofs")


# In a process of its own: one that closes a file gives up all its locks on it, SQLite's too.
_PROBE = """
import fcntl, os, sys
try:
    with open(sys.argv[1], "rb") as file:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
except BlockingIOError:
    pass
except OSError as error:
    print(os.strerror(error.errno))
"""


def missing_locks(file: Path) -> str | None:
    """Why locks do not hold on `file` or in its folder, found by taking one; a remote file system is named too, whose
    locks may come and go. None where nothing is wrong."""
    folder = file.parent
    if why := _refusal(file):
        return f"{file}: {why}"
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            fcntl.lockf(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(probe, fcntl.LOCK_UN)
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    kind = file_system(folder)
    return f"{folder} is on {kind}" if kind.startswith(REMOTE) else None


def _refusal(file: Path) -> str:
    """What the kernel says to a lock on `file`; empty where it is granted or somebody else holds one."""
    if not file.exists():
        return ""
    probe = (sys.executable, "-I", "-c", _PROBE, str(file))
    return subprocess.run(probe, capture_output=True, text=True, check=False).stdout.strip()


def file_system(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """The kind of file system that a folder is on; empty where the kernel does not say."""
    try:
        device = folder.stat().st_dev
        lines = mounts.read_text(encoding="utf8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for words in map(str.split, reversed(lines)):  # the last mount is the one on top
        if wanted in words[2:3] and "-" in words:
            return words[words.index("-") + 1 :][0]
    return ""
