"""Run the emulator with the fidelity patches: `python -m infra.local.launch` in its own process.

The environment must be complete before this module is imported: the emulator reads it then.
"""

from __future__ import annotations

from infra.local.fidelity import apply


def main() -> None:
    """Serve until SIGTERM, upon which the emulator writes its state and ends."""
    apply()
    # Imported late: a version mismatch must be told before a server starts.
    from ministack import app

    app.main()


if __name__ == "__main__":
    main()
