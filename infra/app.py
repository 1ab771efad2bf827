"""Synthesise Onward: `cdk deploy`, or `python -m infra.app` with CDK_OUTDIR set."""

from __future__ import annotations

from aws_cdk import App

from infra.stack import OnwardStack


def main() -> None:
    """Write the cloud assembly where the caller asked for it."""
    app = App()
    OnwardStack(app, "Onward")
    app.synth()


if __name__ == "__main__":
    main()
