"""Files in and out of a workspace whose owner is hostile.

Every coroutine function here is a check of sandbox_conformance."""

import asyncio

import pytest
from sandbox_checking import alive, opened, sleeper

from rsi.errors import TamperError, UserError


async def files_go_in_and_come_out(provider):
    files = {"a": b"", "b/c/d.bin": bytes(range(256)) * 400, "b/\u00e9 x\n": b"name", "-rf": b"dash"}
    async with opened(provider) as sandbox:
        await sandbox.put(files)
        assert (await sandbox.exec("md5sum < b/c/d.bin; cat ./-rf", 10)).stdout.endswith("dash")
        assert await sandbox.get() == files


async def files_belong_to_the_agent_and_can_be_replaced(provider):
    async with opened(provider) as sandbox:
        await sandbox.put({"d/f": b"one"})
        changed = "echo -n 2 >> d/f; chmod 400 d/f; touch d/g; mv d/g d/h; ln d/f hard"
        assert (await sandbox.exec(changed, 10)).exit_code == 0
        await sandbox.put({"d/f": b"three"})
        assert await sandbox.get() == {"d/f": b"three", "d/h": b"", "hard": b"one2"}


async def hostile_names_are_refused_before_anything_is_written(provider):
    async with opened(provider) as sandbox:
        for name in ("../x", "/etc/x", "/task/x", "a/../../x", "..", ".", "", "a\0b", "x/" * 100 + "x"):
            with pytest.raises(TamperError):
                await sandbox.put({"good": b"", name: b"bad"})
        assert await sandbox.get() == {}


async def put_follows_no_link(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("ln -s /tmp out; ln -s /tmp/target file; mkfifo pipe; mkdir folder", 10)
        with pytest.raises(TamperError):
            await sandbox.put({"out/x": b"escaped"})
        await sandbox.put({"file": b"mine", "pipe": b"plain"})
        with pytest.raises(UserError):
            await sandbox.put({"folder": b"x"})
        assert (await sandbox.exec("ls /tmp; rm out; cat file pipe", 10)).stdout == "mineplain"


async def put_into_a_full_workspace_is_a_user_error(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("for i in 1 2 3; do head -c 50000000 /dev/zero > $i; done", 20)
        with pytest.raises(UserError, match="No space left"):
            await sandbox.put({"f": b"x" * 100_000})


async def links_that_leave_are_refused(provider):
    for link in (
        "ln -s /etc/passwd x",
        "ln -s ../etc/passwd x",
        "ln -s / x",
        "mkdir a; ln -s ../../usr a/x",
        "mkdir -p a/b; ln -s a/b y; ln -s y/../../../usr x",
        "ln -s /task/../usr x",
        "ln -s /taskmaster x",
    ):
        async with opened(provider) as sandbox:
            await sandbox.exec(link, 10)
            with pytest.raises(TamperError, match="leaves"):
                await sandbox.get()


async def links_that_stay_read_as_their_file(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec(
            "mkdir -p d/e; echo -n v > d/e/f; ln -s d/e/f rel; ln -s /task/d/e/f abs; ln -s d/e dir;"
            "ln -s dir/../e/f via; ln -s rel chain; ln -s nowhere dangling; ln -s loop loop; ln -s d folder",
            10,
        )
        assert await sandbox.get() == dict.fromkeys(("abs", "chain", "d/e/f", "rel", "via"), b"v")


async def devices_sockets_and_pipes_are_refused(provider):
    for make in ("mkfifo x", "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"x\")'"):
        async with opened(provider) as sandbox:
            if (await sandbox.exec(make, 10)).exit_code == 127:
                continue
            with pytest.raises(TamperError, match="socket or pipe"):
                await sandbox.get()


async def too_much_is_refused(provider):
    for make in (
        "truncate -s 60M sparse",
        "head -c 600000 /dev/zero > a; cp a b",
        "head -c 600000 /dev/zero > a; ln -s a b",
        "for i in {1..10100}; do : > $i; done",
        "for i in {1..80}; do mkdir d; cd d; done",
    ):
        async with opened(provider) as sandbox:
            await sandbox.exec(make, 20)
            with pytest.raises(TamperError):
                await sandbox.get(limit=1_000_000)


async def names_that_are_not_utf8_are_refused(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec(r"touch $'a\xff'", 10)
        with pytest.raises(TamperError, match="UTF-8"):
            await sandbox.get()


async def what_the_agent_made_unreadable_is_read(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("mkdir d; echo -n x > d/f; chmod 0 d/f d", 10)
        assert await sandbox.get() == {"d/f": b"x"}


async def modes_are_taken_out_and_put_back(provider):
    async with opened(provider) as sandbox:
        await sandbox.put({"run": b"echo ran", "d/secret": b"s", "plain": b"p"})
        await sandbox.exec("chmod 755 run; chmod 4600 d/secret; ln -s run link", 10)
        taken = await sandbox.get()
    assert taken.modes["plain"] == 0o644
    assert taken.modes["run"] == 0o755
    assert taken.modes["d/secret"] & 0o777 == 0o600
    async with opened(provider) as sandbox:
        await sandbox.put(taken)
        result = await sandbox.exec("./run; stat -c '%a %n' run d/secret plain", 10)
        again = await sandbox.get()
    assert result.stdout == "ran\n755 run\n600 d/secret\n644 plain\n"  # a set-uid bit is not put back
    assert again.modes == {**taken.modes, "d/secret": 0o600, "link": again.modes["link"]}


async def get_ends_every_process_first(provider):
    marker, command = sleeper()
    async with opened(provider) as sandbox:
        await sandbox.exec(f"({command}) & (while :; do date +%N > f; done) &", 10)
        first = await sandbox.get()
        assert not alive(marker)
        await asyncio.sleep(0.05)
        assert await sandbox.get() == first
        assert (await sandbox.exec("echo on", 10)).exit_code == 137
