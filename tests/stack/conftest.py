"""One stack a module: the whole template in an emulator of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from onward.client import Onward

from infra.local.emulator import free_port
from infra.local.stack import Stack, down, up


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    state = tmp_path_factory.mktemp("stack")
    yield up(free_port(), state, drills=True)
    down(state)


@pytest.fixture
def onward(stack: Stack) -> Iterator[Onward]:
    with Onward(stack.api_url, stack.api_key) as client:
        yield client


@pytest.fixture
def state(stack: Stack) -> Path:
    return Path(stack.state_dir)
