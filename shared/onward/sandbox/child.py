"""The process that runs code nobody has read. Started as a file, isolated, without site packages.

    read stdin ─ import ─ limits ─ kernel filter ─ refusals ─ "sealed" ─ compile, run ─ answer

What stands before "sealed" is ours and touches the code as a string only; what comes after may do
whatever it finds possible. It answers on a pipe of its own, for what is printed is the code's.
The line "refused" instead of "sealed": the kernel took no filter, nothing was run.
"""

# ruff: noqa: S102, BLE001 - to run what was given and to tell whatever it raises is the task

from __future__ import annotations

import _imp
import json
import os
import posix
import resource
import sys
from importlib import import_module
from typing import Any, NoReturn

SOURCE = "<code>"
NOBODY = 65534
MESSAGE = 1000
RESERVE = 2**20

ANNOUNCED = frozenset(
    {
        # What computing announces (PEP 578); whatever else is announced is refused.
        "array.__new__",
        "builtins.id",
        "compile",
        "exec",
        "import",
        "object.__delattr__",
        "object.__getattr__",
        "object.__setattr__",
        "pickle.find_class",
        "sys._getframe",
        "sys._getframemodulename",
        "sys.excepthook",
        "sys.unraisablehook",
        "time.sleep",
    }
)
SILENT = (
    "mkfifo",
    "mknod",
    "sched_setaffinity",
    "sched_setparam",
    "sched_setscheduler",
    "setpriority",
)
UNANNOUNCED = {
    # What makes files or changes other processes, without a descriptor and without a word.
    posix: (*SILENT,),
    os: (*SILENT,),
    # Would make a module anew, and with it what was just taken away.
    _imp: ("create_builtin", "create_dynamic"),
}
# Sets of functions, those that were just taken away among them.
HOLDERS = (
    os.supports_dir_fd,
    os.supports_effective_ids,
    os.supports_fd,
    os.supports_follow_symlinks,
)


def main() -> NoReturn:
    """Shut every door, then run."""
    pipe, write, leave = int(sys.argv[1]), os.write, os._exit
    with sys.stdin.buffer as stdin:
        header, code, data = json.loads(stdin.readline()), stdin.readline(), stdin.readline()
    for name in header["modules"]:
        import_module(name)
    if header["filter"]:
        import_module("ctypes")
    limit(header["memory"], header["cpu"])
    if header["filter"] and not install(bytes.fromhex(header["filter"])):
        write(pipe, b"refused\n")
        leave(0)
    if header["refusals"]:
        refuse()
    write(pipe, b"sealed\n")
    answer = attempt(json.loads(code), data).encode()
    while answer:
        answer = answer[write(pipe, answer) :]
    leave(0)


def limit(memory: int, cpu: int) -> None:
    """Leave nothing to open, to write to or to start; as root only after becoming nobody.

    Descriptors that are open stay usable. Memory is address space in MB, CPU time in seconds.
    """
    sys.path.clear()
    sys.meta_path[:] = [Finder()]
    os.environ.clear()
    if os.geteuid() == 0:
        # Root may start processes and raise limits whatever they are.
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    most = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_NOFILE: 0,
        resource.RLIMIT_AS: memory * 2**20,
    }
    for kind, value in most.items():
        resource.setrlimit(kind, (value, value))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))


def install(program: bytes) -> bool:
    """Put this process under a kernel filter for good; False when the kernel does not take it.

    The process then also ends with the one that started it (PR_SET_PDEATHSIG).
    """
    import ctypes

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    set_parent_death, set_no_new_privileges, set_seccomp, filtered, kill = 1, 38, 22, 2, 9
    text = ctypes.create_string_buffer(program)
    prctl, long = ctypes.CDLL(None).prctl, ctypes.c_ulong
    prctl(set_parent_death, long(kill))
    if prctl(set_no_new_privileges, long(1), long(0), long(0), long(0)):
        return False
    pointer = ctypes.byref(Filter(len(program) // 8, ctypes.addressof(text)))
    for name in [name for name in sys.modules if "ctypes" in name]:
        del sys.modules[name]  # so that code finds the same modules with a filter and without
    return bool(prctl(set_seccomp, long(filtered), pointer) == 0)


def refuse() -> None:
    """Refuse whatever Python announces beyond computing; a hook cannot be taken back.

    It refers to nothing that code could reach and change.
    """

    def hook(
        event: str, _: object, allowed: frozenset[str] = ANNOUNCED, error: Any = PermissionError
    ) -> None:
        if event not in allowed:
            raise error(f"the sandbox refuses {event}")

    for module, names in UNANNOUNCED.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for holder in HOLDERS:
        holder.clear()
    sys.addaudithook(hook)


class Finder:
    """Says of a module that was not imported before the doors were shut that it is not there."""

    def find_spec(self, name: str, *_: object) -> NoReturn:
        """Raise ModuleNotFoundError."""
        raise ModuleNotFoundError(f"{name} is not available in the sandbox", name=name)


def attempt(code: str, data: bytes) -> str:
    """Return what `run(data)` returned, or what went wrong, as a document."""
    reserve = bytearray(RESERVE)
    try:
        return outcome(code, data)
    except MemoryError as error:
        del reserve
        line = line_of(error)
        error.__traceback__ = None  # and with it everything that filled the memory
        return failure("memory", "MemoryError", line)
    except BaseException as error:
        return failure("raised", said(error), line_of(error))


def outcome(code: str, data: bytes) -> str:
    """Return the document of a value, or of a fault that is no error of the code's run."""
    try:
        program = compile(code, SOURCE, "exec", dont_inherit=True)
    except SyntaxError as error:
        return failure("syntax", str(error.msg), error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        # Null characters, half characters, or nested deeper than the parser goes.
        return failure("syntax", f"the code cannot be compiled: {said(error)}", None)
    space: dict[str, Any] = {"__name__": "code"}
    dumps = json.dumps
    given = json.loads(data)
    exec(program, space)
    run = space.get("run")
    if not callable(run):
        return failure("syntax", "there is no function run(data)", None)
    value = run(given)
    try:
        return '{"value": ' + dumps(value, allow_nan=False) + "}"
    except (TypeError, ValueError, RecursionError) as error:
        return failure("not_json", said(error), None)


def failure(kind: str, message: str, line: int | None) -> str:
    """Return the document of a fault."""
    return json.dumps({"kind": kind, "message": message[:MESSAGE], "line": line})


def said(error: BaseException) -> str:
    """Return an error's class and text; the text is made by code that may fail itself."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def line_of(error: BaseException) -> int | None:
    """Return the innermost line of the code on the way to an error."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == SOURCE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


if __name__ == "__main__":
    main()
