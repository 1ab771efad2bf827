"""The locks install the same files everywhere, from whatever registry a machine uses."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNTIME, DEVELOPMENT, UV = "requirements.lock", "requirements-dev.lock", "requirements-uv.lock"
LAYER, AUDIT = "infra/layer.lock", "requirements-audit.lock"
LOCKS = [RUNTIME, DEVELOPMENT, UV, LAYER, AUDIT]
PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)", re.MULTILINE | re.IGNORECASE)


def text(lock: str) -> str:
    return (ROOT / lock).read_text()


def pins(requirements: str) -> dict[str, str]:
    return {name.lower().replace("_", "-"): version for name, version in PIN.findall(requirements)}


def declared(*lists: list[str]) -> dict[str, str]:
    return pins("\n".join(requirement for each in lists for requirement in each))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_place(lock: str) -> None:
    """No registry, URL, file or directory of the machine that wrote it stands in a lock."""
    places = re.findall(r"\S*(?:://|file:|--[\w-]*index|--find-links|(?<=\s)/)\S*", text(lock))

    assert places == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_and_hashed(lock: str) -> None:
    """Each requirement is one exact version with at least one SHA-256."""
    logical_lines = text(lock).replace("\\\n", " ").splitlines()
    requirements = [line for line in logical_lines if line.strip() and not line.startswith("    #")]
    requirements = [line for line in requirements if not line.startswith("#")]

    assert requirements
    for line in requirements:
        assert PIN.match(line), line
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", line), line


def test_the_development_lock_contains_the_runtime_lock() -> None:
    """`make test` after `make demo` adds packages and changes none, so either order works."""
    runtime, development = pins(text(RUNTIME)), pins(text(DEVELOPMENT))

    assert runtime.items() <= development.items()


def test_the_locks_follow_the_declared_dependencies() -> None:
    """A version changed in pyproject.toml without `make lock` is noticed here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    dependencies, development = project["project"]["dependencies"], project["dependency-groups"]

    assert declared(dependencies).items() <= pins(text(RUNTIME)).items()
    assert declared(development["dev"]).items() <= pins(text(DEVELOPMENT)).items()


def test_functions_run_here_on_what_they_are_deployed_with() -> None:
    """What the layer ships is what the emulator's workers import, to the version."""
    layer, runtime = pins(text(LAYER)), pins(text(RUNTIME))
    shared = layer.keys() & runtime.keys()

    assert "pydantic" in shared
    assert {name: layer[name] for name in shared} == {name: runtime[name] for name in shared}


def test_the_layer_holds_what_functions_import() -> None:
    """Here everything is installed; on AWS only the layer is."""
    sources = [*(ROOT / "functions").rglob("*.py"), *(ROOT / "shared/onward").rglob("*.py")]
    away = (ROOT / "shared/onward/cli", ROOT / "shared/onward/client")
    imported = {
        name.partition(".")[0]
        for path in sources
        if not any(path.is_relative_to(folder) for folder in away)
        for node in ast.walk(ast.parse(path.read_bytes()))
        for name in _imports(node)
    }
    installed = packages_distributions()
    others = imported & installed.keys() - sys.stdlib_module_names
    names = {name.lower() for module in others for name in installed[module]}
    needed = {name.replace("_", "-") for name in names} - {"onward"}

    assert "pydantic" in needed
    assert needed <= pins(text(LAYER)).keys()


def _imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
