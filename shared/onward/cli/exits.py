"""What the exit code says, and the one place that turns an error into it."""

from __future__ import annotations

import os
import sys
from enum import IntEnum
from typing import Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from onward.cli.terminal import Terminal, one_line
from onward.client import OnwardProblem, ServiceUnreachable, Unsendable

_SERVER_ERROR = 500


class Exit(IntEnum):
    """The exit codes, which scripts may rely on."""

    SUCCEEDED = 0
    RUN_FAILED = 1
    WRONG_USE = 2
    UNREACHABLE = 3


class WrongUse(Exception):
    """The command was called with something that cannot be right; the message says what."""


class StackFailed(Exception):
    """The local stack did not come up; the message says what to do."""


def complain(message: str) -> None:
    """Say on standard error what went wrong; standard output is for results."""
    told = Text.assemble(("error:", "bold red"), f" {message}")
    Terminal(stderr=True, soft_wrap=True).print(told)


class Commands(TyperGroup):
    """The group of all commands; whatever one of them raises ends in a line and an exit code."""

    def invoke(self, ctx: Any) -> Any:  # typer keeps the type of its context to itself
        """Run the command and map its errors."""
        try:
            return super().invoke(ctx)
        except (WrongUse, Unsendable) as error:
            complain(str(error))
            raise typer.Exit(Exit.WRONG_USE) from error
        except OnwardProblem as problem:
            _explain(problem)
            theirs = problem.status >= _SERVER_ERROR
            raise typer.Exit(Exit.UNREACHABLE if theirs else Exit.WRONG_USE) from problem
        except (ServiceUnreachable, StackFailed) as error:
            complain(str(error))
            raise typer.Exit(Exit.UNREACHABLE) from error
        except BrokenPipeError:
            # The reader has seen enough (`onward watch … | head`); Python would complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(Exit.SUCCEEDED) from None


def _explain(problem: OnwardProblem) -> None:
    # The detail strings the faults together; one a line is easier to read.
    what = f"refused, {len(problem.errors)} at fault" if problem.errors else problem.detail
    complain(f"{what} ({problem.code})")
    faults = Terminal(stderr=True, soft_wrap=True, highlight=False)
    for fault in problem.errors:
        faults.print(Text(one_line(f"  {fault['pointer'] or '/'}: {fault['message']}")))
