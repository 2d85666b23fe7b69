"""What runs inside the sandbox, as text: nothing of this program is imported there.

The server is one thread. A connection brings one message (code, or a tool's result) and takes one reply: a call that
the code wants made, or what the code printed. So a call leaves only when the host comes to fetch it, and no function or
global of the host is ever inside. The server ends where its workspace is gone.
"""

SERVER = r"""
import ast, contextlib, io, json, os, shutil, socket, sys, traceback
folder, most_output, most_call = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
home = os.getcwd()
door = socket.socket(socket.AF_UNIX)
door.bind(folder + "/door")
door.listen(1)
door.settimeout(2)
with open(folder + "/pid", "w") as f:
    f.write(str(os.getpid()))

class ToolError(Exception):
    pass

class Out(io.TextIOBase):
    def __init__(self):
        self.parts, self.left, self.cut = [], most_output, 0
    def write(self, text):
        text = str(text)
        if text[:self.left]:
            self.parts.append(text[:self.left])
        self.cut += max(0, len(text) - self.left)
        self.left = max(0, self.left - len(text))
        return len(text)

class Line:
    held = None
    def take(self):
        while True:
            with contextlib.suppress(TimeoutError):
                self.held, _ = door.accept()
                break
            if not os.path.isdir(home):
                shutil.rmtree(folder, ignore_errors=True)
                os._exit(0)
        self.held.setblocking(True)
        data = b""
        while chunk := self.held.recv(65536):
            data += chunk
        return json.loads(data)
    def give(self, reply):
        with contextlib.suppress(OSError):
            self.held.sendall(json.dumps(reply).encode())
        self.held.close()

line = Line()

class Callable:
    __slots__ = ("_name", "__doc__")
    def __init__(self, name, text):
        self._name, self.__doc__ = name, text
    def __repr__(self):
        return "<tool %s>" % self._name
    def __call__(self, *args, **kwargs):
        if args:
            raise TypeError("%s takes keyword arguments only" % self._name)
        text = json.dumps(kwargs)
        if len(text) > most_call:
            raise ValueError("arguments of %s: at most %d characters" % (self._name, most_call))
        line.give({"kind": "call", "tool": self._name, "arguments": kwargs})
        told = line.take()
        if "error" in told:
            raise ToolError(told["error"])
        return told.get("result")

space = {"__name__": "__main__", "ToolError": ToolError}

def run(code, out):
    tree = ast.parse(code, "<block>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<block>", "exec"), space)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<block>", "eval"), space)
        if value is not None:
            out.write(repr(value) + "\n")

while True:
    try:
        message = line.take()
    except ValueError:
        line.give({"kind": "done", "output": "", "failed": True, "cut": 0})
        continue
    for name, text in message.get("tools", {}).items():
        space[name] = Callable(name, text)
    out, failed = Out(), False
    for name, text in message.get("helpers", {}).items():
        try:
            exec(compile(text, "<%s>" % name, "exec"), space)
        except BaseException as error:
            out.write("[helper %s does not load: %s]\n" % (name, type(error).__name__))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            run(message.get("code", ""), out)
        except BaseException as error:
            failed = True
            lines = traceback.format_exception(type(error), error, error.__traceback__)
            kept = [text for text in lines if folder not in text.split(chr(10))[0]]
            out.write("".join(kept)[-2000:])
    names = sorted(n for n in space if not n.startswith("_") and n not in message.get("hidden", ()))[:50]
    line.give({"kind": "done", "output": "".join(out.parts), "failed": failed, "cut": out.cut, "names": names})
"""

# Reads one message on stdin, prints one reply. A server that does not answer in time is ended, and that is the reply.
CLIENT = r"""
import json, os, signal, socket, sys
folder, seconds = sys.argv[1], float(sys.argv[2])
try:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(seconds)
    s.connect(folder + "/door")
    s.sendall(sys.stdin.buffer.read())
    s.shutdown(socket.SHUT_WR)
    data = b""
    while chunk := s.recv(65536):
        data += chunk
    print(data.decode() or json.dumps({"kind": "died"}))
except TimeoutError:
    try:
        os.kill(int(open(folder + "/pid").read()), signal.SIGKILL)
    except (OSError, ValueError):
        pass
    print(json.dumps({"kind": "hung"}))
except OSError:
    print(json.dumps({"kind": "died"}))
"""
