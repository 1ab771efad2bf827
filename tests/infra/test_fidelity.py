from __future__ import annotations

import pytest

from infra.local import fidelity
from infra.local.fidelity import EmulatorNotVerified, error_type

TRACE = "Traceback (most recent call last):\n  File 'a', line 1\n"


@pytest.mark.parametrize(
    ("message", "log", "expected"),
    [
        ("no", f"a line\n{TRACE}ValueError: no", "ValueError"),
        ("no", f"{TRACE}onward.sdk.errors.Fatal: no\n", "Fatal"),
        ("two\nlines: here", f"{TRACE}ValueError: two\nlines: here", "ValueError"),
        ("", f"{TRACE}KeyboardInterrupt", "KeyboardInterrupt"),
        ("b", f"{TRACE}KeyError: a\n\nDuring handling\n\n{TRACE}Odd: b", "Odd"),
        ("Runtime exited with error: exit status 1", "a line", "Runtime.ExitError"),
        ("Task timed out after 1.00 seconds", "Task timed out after 1.00 seconds", None),
        ("no", f"{TRACE}ValueError: no\nand a note", None),
    ],
)
def test_an_error_is_named_after_its_class(message: str, log: str, expected: str | None) -> None:
    """What cannot be told is left as the emulator says it."""
    assert error_type(message, log) == expected


def test_another_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The patches reach into private parts: on a release nobody looked at they do not start."""
    monkeypatch.setattr(fidelity, "VERIFIED", "0.0.0")

    with pytest.raises(EmulatorNotVerified, match="test_emulator_facts"):
        fidelity.apply()
