"""Cold imports: `execute_step` beside a handler that imports what most handlers do."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

from infra.bundle import ROOT

OURS: Final = "import execute_step"
FIRST_USE: Final = "import execute_step\nexecute_step.attempts()"
USUAL: Final = """
import boto3
from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function)
from pydantic import BaseModel

logger, metrics = Logger(service="usual"), Metrics(namespace="usual", service="usual")
app = APIGatewayHttpResolver(enable_validation=True)


class Body(BaseModel):
    name: str


@app.post("/things")
def make(body: Body) -> Body:
    return body
"""
_SETTINGS: Final = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "ONWARD_RUNS_TABLE": "runs",
    "ONWARD_IDEMPOTENCY_TABLE": "idempotency",
    "ONWARD_SANDBOX_FUNCTION": "sandbox",
    "ONWARD_ARTIFACTS_BUCKET": "artifacts",
    "ONWARD_DRILLS": "0",
}
_TIMED: Final = (
    "import time\nstarted = time.perf_counter()\n{}\nprint(time.perf_counter() - started)"
)


def milliseconds(source: str) -> float:
    """Return how long a fresh interpreter needs for a source text."""
    environment = (
        os.environ
        | _SETTINGS
        | {"PYTHONPATH": os.pathsep.join([str(ROOT / "shared"), str(ROOT / "functions")])}
    )
    done = subprocess.run(
        [sys.executable, "-c", _TIMED.format(source)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.strip().splitlines()[-1]) * 1000
