"""Numbers that bound a run, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_STEPS: Final = 500
"""Planned steps of one run, those that a plan adds at run time included."""

MAX_COUNTED: Final = 5
"""Steps that added others of which the run row counts how many of those have ended. The smallest
are let go first and counted anew from their rows: at most MAX_STEPS / (MAX_COUNTED + 1) = 83."""

TRANSACTION_ROWS: Final = 100
"""Rows of one commit (DynamoDB: 100 items a transaction)."""

CLOSING_ROWS: Final = 50
"""Rows of a commit above which no more ended fan-ins are put in, so that its claims fit too."""

ENDING_ROWS: Final = 10
"""Rows of a commit above which it does not end a failing run as well: that may take 90."""

MAX_DEPTH: Final = 50
"""Levels of nesting in a plan's inputs; they are walked recursively."""

MAX_CYCLES: Final = 10
"""Cycles named in the refusal of one plan; a dense graph has more than anybody can read."""

MAX_CHILDREN: Final = 10_000
"""Items that one `for_each` fans out over."""

MAX_INPUT_BYTES: Final = 64 * 2**20
"""Resolved input of one attempt: what a worker reads whole, decodes and checks beside itself."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one run may cost: set for a deployment, pinned into the run when it is submitted.

    `steps`: planned ones, those that a plan adds included, never above MAX_STEPS. `children`: of
    all its fan-outs together; with the steps and the run's retries they bound its attempts.
    `bytes`: of all resolved inputs together, as JSON.
    """

    steps: int = MAX_STEPS
    children: int = 50_000
    bytes: int = 2**30


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """What one tenant may have at a time: set for a deployment.

    `active`: runs that have not ended, waiting ones included. `steps`: of those runs together,
    planned ones and children of fan-outs that were opened. Both are counted now and then, so they
    may be overshot by what is submitted in between.
    """

    active: int = 10_000
    steps: int = 1_000_000


MAX_LANES: Final = 10
"""Attempts of a run that are open at once; their claims share one transaction (100 items)."""

MAX_WAITING: Final = 10
"""Waiting steps above which a run claims no fresh ones, so that its row stays small."""

MAX_FANS: Final = 5
"""Fan-outs of a run that are open at once; a further one waits for the first to end."""

MAX_MESSAGE: Final = 500
"""Characters of an error or note kept in rows and events; a tool may raise a megabyte."""

INLINE_BYTES: Final = 4 * 1024
"""A larger input or output goes to the artifact store; the row keeps its reference."""

SHORT_DELAY: Final = 5
"""Seconds that a lane waits by itself; a longer back-off is parked."""

MAX_LOOKS: Final = 10
"""Resent writes of a run whose receivers are to be asked once more; the run row stays small."""

LOOK_SECONDS: Final = 3600
"""After this a receiver that could not be asked once more is asked no longer."""

LOW_SETTLES: Final = 10.0
"""Seconds of `settles_after` below which `onward check` warns: a request that waits in its client,
on the way or in its receiver's queue for longer is sent twice."""

MAX_WAIT: Final = 86_400
"""Seconds after which a parked driver looks again even if nobody signalled."""

THROTTLED_REST: Final = 20
"""Seconds, twice as many at most, that a step rests whose attempt never reached its tool."""

BEGAN_LATE: Final = "began_late"
"""The code of an attempt that began after its deadline, which may be a worker's wrong clock."""

MAX_FREEZES: Final = 3
"""Freezes of a step's workers in a row from which on each counts as a try: a tool that always
stops its process would go on for ever."""

OVERRAN: Final = 70
"""Exit status of a process that ends itself because its attempt's deadline has passed."""

TASK_GRACE: Final = 10
"""Seconds the driver waits past an attempt's deadline (the worker ends itself after 1)."""

HANDOFF_DECISIONS: Final = 2_000
"""Commits of one generation; an execution's history ends at 25,000 events, a step takes 7."""

MAX_STEP_TIMEOUT: Final = 840
"""Seconds; a Lambda function lives 900 and needs some to commit."""

DUE_AFTER: Final = 60
"""Seconds after which the patrol looks at a run that was accepted, answered or ended."""

MAX_BODY_BYTES: Final = 256 * 1024
"""A request body (the contract's limit; API Gateway's own is 10 MB)."""

DEFAULT_RUN_RETRIES: Final = 100
"""Retries that all steps of one run share; faults of infrastructure take none of them."""

FUNCTION_SECONDS: Final = 900
"""How long a function lives at most (the Lambda limit); so a worker of a run whose rows do not say
for how long its own function does."""

LEAST_FUNCTION_SECONDS: Final = 90
"""Time-out of a function whose tools are all quicker than a minute."""

FUNCTION_MARGIN: Final = 30
"""Seconds of a function's time-out behind its longest tool's: to start in, and to commit in."""

MAX_STALLS: Final = 3
"""Generations in a row that ended by themselves without a commit, after which a person is asked.
Each tries for some 40 minutes first where its functions fail (`Retry` in driver.asl.json)."""
