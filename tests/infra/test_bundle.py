from __future__ import annotations

import json
import shutil
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from infra import bundle
from infra.local import assembly


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A tree like ours with what must and what must not be shipped."""
    files = {
        "functions/settle.py": "handler = 1",
        "functions/workflows/report/plan.py": "steps = []",
        "functions/__pycache__/settle.cpython-311.pyc": "stale",
        "functions/.hidden": "secret",
        "shared/onward/settings.py": "PREFIX = 1",
        "shared/onward/client/api.py": "import httpx",
        "shared/onward/cli/main.py": "import typer",
        "infra/stack.py": "",
        "cdk.json": "{}",
    }
    root = tmp_path / "sources"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_code_is_what_a_function_imports(sources: Path, tmp_path: Path) -> None:
    """Handlers, workflows and the library stand at the top; the command line stays at home."""
    built = bundle.build_code(tmp_path, sources)
    with zipfile.ZipFile(built.path) as archive:
        names = archive.namelist()

    assert names == ["onward/settings.py", "settle.py", "workflows/report/plan.py"]


def test_the_same_code_is_the_same_archive(sources: Path, tmp_path: Path) -> None:
    """Neither the clock nor byte code beside the sources makes a deployment."""
    first = bundle.build_code(tmp_path / "first", sources)
    copy = shutil.copytree(sources, tmp_path / "copy", copy_function=shutil.copyfile)
    (copy / "shared/onward/__pycache__").mkdir()
    (copy / "shared/onward/__pycache__/settings.cpython-313.pyc").write_bytes(b"\0")
    second = bundle.build_code(tmp_path / "second", copy)

    assert first.digest == second.digest
    assert first.path.read_bytes() == second.path.read_bytes()


@pytest.mark.parametrize("name", ["functions/settle.py", "shared/onward/new.py"])
def test_other_code_is_another_archive(sources: Path, tmp_path: Path, name: str) -> None:
    """A change is never hidden behind an unchanged hash."""
    before = bundle.build_code(tmp_path / "before", sources)
    (sources / name).write_text("changed = True")

    assert bundle.build_code(tmp_path / "after", sources).digest != before.digest


def test_the_template_is_made_anew_when_a_source_changes(sources: Path) -> None:
    """And only then: byte code is none."""
    before = assembly.fingerprint({}, sources)
    (sources / "functions/__pycache__/other.pyc").write_bytes(b"\0")
    assert assembly.fingerprint({}, sources) == before
    assert assembly.fingerprint({"onward:drills": "1"}, sources) != before
    (sources / "infra/stack.py").write_text("changed = True")
    assert assembly.fingerprint({}, sources) != before


def test_the_lock_pins_and_hashes_and_names_no_address() -> None:
    """Everything is pinned, and who installs it chooses the registry."""
    text = bundle.LOCK.read_text()
    pins = [line for line in text.splitlines() if not line.startswith((" ", "#"))]

    assert pins
    assert all("==" in line and line.endswith("\\") for line in pins)
    assert text.count("--hash=sha256:") >= len(pins)
    assert not any(mark in text for mark in ("http", "file:", "--index", "--find-links"))


@pytest.mark.parametrize("name", ["boto3", "botocore", "pydantic", "aws-lambda-powertools"])
def test_functions_run_the_releases_that_are_tested(name: str) -> None:
    """The layer and the environment of the tests agree."""
    assert f"{name}=={version(name)} " in bundle.LOCK.read_text()


def test_a_layer_is_known_by_lock_and_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another architecture or another lock is another layer."""
    digests = {bundle.layer_digest("x86_64"), bundle.layer_digest("arm64")}
    changed = tmp_path / "layer.lock"
    changed.write_text("other==1\n")
    monkeypatch.setattr(bundle, "LOCK", changed)
    digests.add(bundle.layer_digest("x86_64"))

    assert len(digests) == 3


def test_the_layer_holds_wheels_for_the_runtime() -> None:
    """Built for real, once a lock: each wheel is pure or for the runtime's Python and platform."""
    built = bundle.build_layer(assembly.CACHE, "x86_64")
    with zipfile.ZipFile(built.path) as archive:
        names = archive.namelist()
        metadata = [name for name in names if name.endswith(".dist-info/WHEEL")]
        tags = {
            line.split(": ")[1]
            for name in metadata
            for line in archive.read(name).decode().splitlines()
            if line.startswith("Tag: ")
        }

    assert all(name.startswith("python/") for name in names)
    assert len(metadata) > 10
    assert all(tag.endswith("none-any") or is_for_runtime(tag) for tag in tags), tags
    assert any(is_for_runtime(tag) for tag in tags)


def is_for_runtime(tag: str) -> bool:
    """Whether a wheel's tag is of CPython 3.13 on the manylinux that Lambda's image satisfies."""
    return tag.startswith("cp313-cp313-") and tag.endswith(("manylinux2014_x86_64", "2_17_x86_64"))


@pytest.mark.parametrize(
    "flag",
    [
        "@aws-cdk/core:validateAgainstDefaultRules",
        "@aws-cdk/aws-lambda:recognizeLayerVersion",
    ],
)
def test_warnings_that_matter_are_errors(flag: str) -> None:
    """A cycle, a short visibility time-out or a layer change without a version stops synthesis."""
    assert json.loads((bundle.ROOT / "cdk.json").read_text())["context"][flag] is True
