"""The command line: `onward up`, `run`, `watch`, `show` and what belongs to them."""

from onward.cli.commands import app

__all__ = ["app"]
