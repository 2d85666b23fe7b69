"""A file system without locks is one line that says what to do. A shim takes the locks away from the real SQLite."""

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler"),
]
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refused(int fd, int command) {
    char link[64], path[4096];
    const char *ending = getenv("SHIM_ENDING");
    if (command != F_SETLK && command != F_SETLKW && command != F_GETLK) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0 || !ending) return 0;
    path[n] = 0;
    size_t want = strlen(ending);
    return (size_t) n >= want && !strcmp(path + n - want, ending);
}

static int real(const char *name, int fd, int command, void *argument) {
    int (*next)(int, int, ...) = (int (*)(int, int, ...)) dlsym(RTLD_NEXT, name);
    if (refused(fd, command)) { errno = atoi(getenv("SHIM_ERRNO")); return -1; }
    return next(fd, command, argument);
}

#define WRAP(name) int name(int fd, int command, ...) { \
    va_list list; va_start(list, command); void *argument = va_arg(list, void *); va_end(list); \
    return real(#name, fd, command, argument); }
WRAP(fcntl)
WRAP(fcntl64)
"""
OPEN = """
from rsi.errors import RsiError
from rsi.registry.engine import open_database
try:
    open_database().close()
    print("opened")
except RsiError as error:
    print(type(error).__name__, error)
"""
ERRNOS = {"ENOLCK": 37, "ENOSYS": 38, "EOPNOTSUPP": 95, "EINVAL": 22, "EIO": 5}


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    made = folder / "shim.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", made, folder / "shim.c", "-ldl"], check=True)
    return made


def opened(shim, home, ending, number):
    env = {**os.environ, "RSI_HOME": str(home), "LD_PRELOAD": str(shim)}
    env |= {"SHIM_ENDING": ending, "SHIM_ERRNO": str(number)}
    done = subprocess.run([sys.executable, "-c", OPEN], env=env, capture_output=True, text=True, timeout=150)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    return done.stdout.strip()


def test_the_shim_takes_nothing_from_other_files(shim, tmp_path):
    assert opened(shim, tmp_path / "home", "elsewhere.db", 37) == "opened"


@pytest.mark.parametrize("name", ERRNOS)
@pytest.mark.parametrize("ending", ["store.db", "store.db-shm"])
def test_locks_that_fail_are_one_line(shim, tmp_path, ending, name):
    said = opened(shim, tmp_path / "home", ending, ERRNOS[name])
    assert said.startswith("UserError store ") and "set RSI_HOME to a folder on a local disk" in said, said
    assert len(said.splitlines()) == 1
