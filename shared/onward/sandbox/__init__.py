"""Run code that nobody has read, in a child process that can compute and nothing else.

    job        what is to be run, and within which bounds
    run        start the child, watch it, judge what it says
    child      the process itself; a file of its own that knows nothing of ours
    syscalls   the kernel's own list of what the child may ask of it
    verdict    what came of it, or which error

Three locks, each of which holds without the others where it can be had:

    limits     no descriptor, no byte in a file, no process, so much memory; everywhere
    syscalls   computing and two pipes; where the kernel takes a filter (on Lambda it does not)
    refusals   what Python itself announces before it does it (PEP 578); everywhere

What no lock inside a process can promise is promised by the function's role: it may write its
own log, and so there is nothing worth taking.
"""
