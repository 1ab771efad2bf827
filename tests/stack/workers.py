"""The workers of a stack under test."""

from infra.local.workers import kill, workers

__all__ = ["kill", "workers"]
