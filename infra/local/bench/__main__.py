"""`make bench`: everything in one run on one stack, as ratios and counts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

from onward.client import Onward

from infra.local.bench import imports
from infra.local.bench.bare import BareChain
from infra.local.bench.calls import attempt_costs, chain
from infra.local.bench.executions import history, seconds
from infra.local.bench.fan_out import child_costs, fan_out_seconds
from infra.local.bench.push import crowd, progress_turns, step_turns
from infra.local.deploy import client
from infra.local.emulator import free_port
from infra.local.stack import down, up

if TYPE_CHECKING:
    from infra.local.bench.push import LatencySamples
    from infra.local.stack import Stack

LENGTH: Final = 8
PAIRS: Final = 12
COLD: Final = 9
LONG: Final = 300
LANES: Final = 10
PUSHES: Final = 40
SOCKETS: Final = 50


def main() -> None:
    """Bring a stack of its own up, measure, take it down."""
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch)
        stack = up(free_port(), state)
        try:
            measure(stack)
        finally:
            down(state)


def measure(stack: Stack) -> None:
    """Print each figure with its target."""
    latency(stack)
    transitions(stack)
    costs(stack)
    push(stack)
    fan_out(stack)
    cold()


def latency(stack: Stack) -> None:
    """Per-step latency of a chain, paired run by run with the bare chain; the first pair warms."""
    bare = BareChain(stack, LENGTH)
    pairs = [(_ours(stack, LENGTH)[0], bare.run()) for _ in range(PAIRS + 1)][1:]
    ours, theirs = (median(side) / LENGTH * 1000 for side in zip(*pairs, strict=True))
    ratio = median(a / b for a, b in pairs)
    print(f"chain of {LENGTH}, median of {PAIRS} pairs, milliseconds a step")
    row("onward", f"{ours:.1f}")
    row("bare Step Functions and Lambda", f"{theirs:.1f}")
    row("ratio, pair by pair", f"{ratio:.2f}", "4.0")


def transitions(stack: Stack) -> None:
    """Count what a step adds to an execution, as the difference of two lengths of chain."""
    long, short = _ours(stack, 2 * LENGTH)[1], _ours(stack, LENGTH)[1]
    print("Step Functions, a step")
    for name, kinds, target in (
        ("state transitions", ("StateEntered",), "2"),
        ("invocations", ("TaskScheduled",), "1"),
        ("history events", ("",), None),
    ):
        added = sum(_count(long, kind) - _count(short, kind) for kind in kinds) / LENGTH
        row(name, f"{added:g}", target)


def costs(stack: Stack) -> None:
    """Count service calls and DynamoDB units of a read step; the same at every length."""
    found = attempt_costs(stack, LONG)
    middle = found[LENGTH // 2]
    print(f"AWS service calls of a read step: {', '.join(middle.calls)}")
    row("service calls", str(len(middle.calls)), "5")
    row("write units", f"{middle.write_units:g}", "12")
    row("read units", f"{middle.read_units:g}")
    for index in (10, 290):
        row(f"write units of step {index} of {LONG}", f"{found[index].write_units:g}", "the same")


def push(stack: Stack) -> None:
    """Time the way from a commit to a frame, in turns with the bare one."""
    print(f"push, commit to frame, {PUSHES} turns on one socket, milliseconds")
    _sides("a step's progress", progress_turns(stack, PUSHES), "2")
    _sides("a step's end, driver busy", step_turns(stack, PUSHES), None)
    many = quantiles(crowd(stack, SOCKETS, PUSHES // 2), n=20)
    row(f"{SOCKETS} sockets on a run, median", f"{1000 * many[9]:.1f}")
    row(f"{SOCKETS} sockets on a run, 95 of 100", f"{1000 * many[18]:.1f}")


def _sides(what: str, turns: LatencySamples, target: str | None) -> None:
    ours, bare = (quantiles(side, n=20) for side in (turns.ours, turns.bare))
    for name, index in (("median", 9), ("95 of 100", 18)):
        row(f"{what}: {name}", f"{1000 * ours[index]:.1f}")
        row(f"bare hop beside it: {name}", f"{1000 * bare[index]:.1f}")
        row("ratio", f"{ours[index] / bare[index]:.2f}", target)


def fan_out(stack: Stack) -> None:
    """Count what a child of a wide fan-out costs while ten lanes contend for one run row."""
    wide = LONG + LANES  # the last child of a lane claims no other and costs less
    print(f"fan-out, {LANES} lanes, items of 1 s")
    took = fan_out_seconds(stack, LONG)
    row(f"seconds for {LONG} on the stack", f"{took:.1f}", f"{1.3 * LONG / LANES:g}")
    found = child_costs(stack, wide)
    for index in (10, 290):
        row(f"write units of child {index} of {wide}", f"{found[index].write_units:g}", "the same")
    row("conflicts a child", f"{sum(cost.conflicts for cost in found) / wide:.2f}")
    row("most conflicts of one child", str(max(cost.conflicts for cost in found)))


def cold() -> None:
    """Time cold imports, turn by turn; what the first attempt imports besides is told too."""
    turns = [
        [
            imports.milliseconds(source)
            for source in (imports.OURS, imports.FIRST_USE, imports.USUAL)
        ]
        for _ in range(COLD)
    ]
    ours, first, usual = (median(column) for column in zip(*turns, strict=True))
    print(f"cold import, median of {COLD} turns, milliseconds")
    row("execute_step", f"{ours:.0f}")
    row("execute_step and its first client", f"{first:.0f}")
    row("a handler with the usual imports", f"{usual:.0f}")
    row("ratio, turn by turn", f"{median(a / c for a, _, c in turns):.2f}", "0.6")
    row("ratio with the first client", f"{median(b / c for _, b, c in turns):.2f}")


def row(name: str, value: str, target: str | None = None) -> None:
    """Print one figure."""
    print(f"  {name:<38}{value:>10}" + (f"   target {target}" if target else ""))


def _ours(stack: Stack, length: int) -> tuple[float, list[str]]:
    """Run a chain through the API; return its execution's seconds and history."""
    machines = client("stepfunctions", stack)
    with Onward(stack.api_url, stack.api_key) as onward:
        run_id = onward.submit(plan=chain(length))["run_id"]
        for _ in onward.watch(run_id):
            pass
    driver = stack.outputs["DriverArn"].replace(":stateMachine:", ":execution:")
    execution = f"{driver}:{run_id}-1"
    return seconds(machines, execution), history(machines, execution)


def _count(events: list[str], kind: str) -> int:
    return sum(kind in event for event in events)


if __name__ == "__main__":
    main()
