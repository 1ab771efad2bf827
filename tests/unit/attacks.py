"""Code that means harm, for the tests of the sandbox; `d` holds a path, a process and a port."""

from __future__ import annotations

from pathlib import Path
from typing import Final

CHILD: Final = b"onward/sandbox/child.py"
MODULES: Final = (
    "_imp",
    "_thread",
    "ctypes",
    "gc",
    "os",
    "resource",
    "socket",
    "subprocess",
    "sys",
)

FILES: Final = {
    "read the environment of the parent": "open(f'/proc/{d[\"parent\"]}/environ').read()",
    "read the environment of the first process": "open('/proc/1/environ').read()",
    "read its own environment": "open('/proc/self/environ').read()",
    "read credentials": "open(os.path.join('/root', '.aws', 'credentials')).read()",
    "list a directory": "os.listdir('/')",
    "write a file": "open(d['path'], 'w').write('x')",
    "write beside its folder": "os.open('x' + os.path.basename(d['path']), os.O_CREAT)",
    "fill the disk": "[open(d['path'] + str(n), 'wb').write(bytes(2**20)) for n in range(10**6)]",
    "map a file of its own": "os.memfd_create('x')",
}
NETWORK: Final = {
    "ask the instance for credentials": "socket.socket().connect(('169.254.169.254', 80))",
    "ask the parent's services": "socket.socket().connect(('127.0.0.1', d['port']))",
    "open a socket": "socket.socket()",
}
PROCESSES: Final = {
    "fork": "os.fork()",
    "bomb": "[os.fork() for n in range(1000)]",
    "outlive its parent": "os.fork() or os.setsid() or os.fork() or __import__('time').sleep(100)",
    "start a program": "os.posix_spawn('/bin/sleep', ['sleep', '100'], {})",
    "start a shell": "subprocess.run(['sleep', '100'])",
    "start threads": "_thread.start_new_thread(print, ())",
}
_HELD: Final = (
    "f for m in [*sys.modules.values()] for v in [*vars(m).values()] for f in [v, *("
    "v if isinstance(v, (set, frozenset, list, tuple)) else"
    " [*v.values()] if isinstance(v, dict) else"
    " [*vars(v).values()] if isinstance(v, type) else"
    " v.__defaults__ or () if type(v) is type(run) else ())]"
)
"""Functions that a module's names, collections, classes and default arguments lead to."""
NAMES: Final = {
    "make a directory": "os.mkdir(d['path'])",
    "make a link": "os.symlink('/', d['path'])",
    "make a pipe": "os.mkfifo(d['path'])",
    "make a node": "os.mknod(d['path'])",
    "remove what is there": "os.unlink(d['kept'])",
    "rename what is there": "os.rename(d['kept'], d['path'])",
    "make a pipe from a set": "{f.__name__: f for f in os.supports_dir_fd}['mkfifo'](d['path'])",
    "make a node from a set": "{f.__name__: f for f in os.supports_dir_fd}['mknod'](d['path'])",
    "make a pipe by another name": "os.open.__self__.mkfifo(d['path'])",
    "make a pipe by a frozen module": "_imp.init_frozen('os').mkfifo(d['path'])",
    "make a pipe by whatever holds it": (
        f"next({_HELD} if getattr(f, '__name__', '') == 'mkfifo')(d['path'])"
    ),
}
OTHERS: Final = {
    "kill its parent": "os.kill(d['parent'], 9)",
    "kill everybody": "os.kill(-1, 9)",
    "slow its parent down": "os.setpriority(os.PRIO_PROCESS, d['parent'], 19)",
    "limit its parent": "resource.prlimit(d['parent'], resource.RLIMIT_CPU, (1, 1))",
}
INTERPRETER: Final = {
    "lift its limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))",
    "call machine code": "ctypes.CDLL(None)",
    "forge byte code": "(lambda: 0).__code__.replace(co_consts=())",
    "look at every object": "gc.get_objects()",
    "make a module by its loader": (
        "sys.modules['posix'].__spec__.loader.create_module(sys.modules['posix'].__spec__)"
        ".mkfifo(d['path'])"
    ),
    "make a module anew": "_imp.create_builtin(sys.modules['posix'].__spec__).mkfifo(d['path'])",
}


def source(expression: str) -> str:
    """Return a program of an expression; the modules that it names are imported."""
    named = [name for name in MODULES if f"{name}." in expression]
    head = f"import {', '.join(named) or 'os'}"
    return f"{head}\ndef run(d):\n    {expression}\n    return 'harm done'\n"


def allowed() -> frozenset[str]:
    """Return the modules that attacks are made with: with them at hand the locks must hold."""
    return frozenset(MODULES)


def children(of: int) -> list[int]:
    """Return the sandbox's children that a process, or nobody any more, is the parent of."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if CHILD in line and parent in {1, of}:
                found.append(int(entry.name))
    return found
