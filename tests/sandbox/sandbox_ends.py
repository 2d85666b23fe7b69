"""Ways in which commands end or exhaust the sandbox that they run in, by name: each a list of commands, run in turn."""

_FILL = "i=0; while :; do : > /tmp/$RANDOM$i; i=$((i+1)); done"
_PY = "python3 -c '{}'"
ENDS = {
    "all killed": ["kill -9 -1"],
    "all killed in the background": ["(sleep 0.01; while :; do kill -9 -1; done) & sleep 0.05"],
    "the shell killed": ["kill -9 $$", "kill -9 $PPID"],
    "the shell replaced": ["exec head > /tmp/f", "exec true", "exec /supervisor -c 'exit 3'"],
    "the shell segmented": ["kill -SEGV $$", "kill -ABRT 1; kill -SEGV 1; kill -HUP 1"],
    "everything stopped": ["(kill -STOP -1; :) & sleep 0.01; kill -STOP $$"],
    "the first process stopped": ["kill -STOP 1; kill -TSTP 1; kill -TTIN 1"],
    "a fork bomb": ["f() { f | f & }; f; sleep 100"],
    "all processes taken": ["for i in {1..100}; do sleep 100 & done", "true", "ls"],
    "all threads taken": [
        _PY.format(
            "import threading, time\ntry:\n while 1: threading.Thread(target=time.sleep, args=(9,)).start()\n"
            "except RuntimeError: print(1)\nimport os; os.kill(os.getpid(), 9)"
        )
    ],
    "all descriptors taken": ['exec 9</dev/null; for i in {10..400}; do eval "exec $i</dev/null"; done', "true"],
    "address space": [_PY.format("bytearray(3 << 30)"), _PY.format("x = []\nwhile 1: x.append(bytearray(1 << 20))")],
    "a deep recursion": ["f() { f; }; f"],
    "files of memory": [
        _PY.format('import os\nwhile 1: os.pwrite(os.memfd_create("x"), b"x" * (1 << 20), 0)'),
    ],
    "pipes": [
        _PY.format('import os\nwhile 1:\n r, w = os.pipe(); os.set_blocking(w, False); os.write(w, b"x" * 65536)')
    ],
    "sockets": [
        _PY.format(
            'import socket\nwhile 1:\n a, b = socket.socketpair(); a.setblocking(False); a.send(b"x" * 9999)\n'
            ' globals().setdefault("k", []).append((a, b))'
        )
    ],
    "queues of messages": [_PY.format("import ctypes\nfor n in range(99): ctypes.CDLL(None).msgget(0, 0o1600)")],
    "shared memory": [
        _PY.format("import ctypes\nfor n in range(99): print(ctypes.CDLL(None).shmget(0, 1 << 24, 0o1600))")
    ],
    "the disk": ["cat /dev/zero > a", "cat /dev/zero > /tmp/a", "cat /dev/zero > /dev/shm/a", "echo x > b", "ls > c"],
    "its pipes": ["exec >&- 2>&- <&-; cat /dev/zero", "yes >&2 & sleep 0.02", "echo on"],
    "pipes that never wait": [
        _PY.format("import fcntl, os\nfor f in 1, 2: fcntl.fcntl(f, 4, os.O_NONBLOCK)"),
        "seq 99999",
    ],
    "its home": ["rm -rf /task/* /task/.*; chmod 0 /task", "ls", "cd /", "chmod 755 /task"],
    "limits of zero": ["ulimit -u 0 -n 0 -t 0 -f 0 -v 9; true", "echo on"],
    "signals": ["trap '' TERM INT HUP QUIT; kill -INT 0; kill -QUIT 0", "kill -INT -1; kill -PIPE 1"],
}
EXHAUSTING = [_FILL] * 6 + ["exec head > /tmp/f"] * 3 + ["echo on"]
