"""What is said of each type of event, and how an event is built."""

from __future__ import annotations

from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(kw_only_default=True)
class EventData:
    """The `data` of one event, and what its type means to those who read the log."""

    type: ClassVar[str]
    ends: ClassVar[bool] = False
    """Whether its run, or its step, is over with it."""
    shows: ClassVar[str | None] = None
    """The status that its run or step has from then on; None where the type alone cannot tell."""
    counts: ClassVar[str | None] = None
    """The metric that each such event adds one to (a value of `Metric`).

    What is counted once a commit (`Recoveries`: one death, however many lanes) is the meter's."""
    interrupts: ClassVar[bool] = False
    """Whether it tells of work that did not go straight on: lost, doubtful, late or made good."""

    def __init__(self, **members: Any) -> None:
        """Take the members that the class names; types are checked where it is called."""
        optional = type(self).__dict__
        self.members = {k: v for k, v in members.items() if v is not None or k not in optional}
        """The event's `data` as JSON."""
