"""What a function runs: our code and its dependencies, built without Docker and reproducibly.

Both are archives whose asset hash is a digest of what went in, never of the archive, so that
another zlib or another clock does not look like a change.
"""

from __future__ import annotations

import compileall
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from py_compile import PycInvalidationMode
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).resolve().parent.parent
LOCK: Final = ROOT / "infra" / "layer.lock"
RUNTIME_PYTHON: Final = (3, 13)

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_MODE: Final = 0o644 << 16
_NOT_SHIPPED: Final = ("onward/client", "onward/cli")
_WHEEL_PLATFORMS: Final[Mapping[str, str]] = {
    "x86_64": "manylinux2014_x86_64",
    "arm64": "manylinux2014_aarch64",
}


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip file and the digest of its contents, which is its asset hash."""

    path: Path
    digest: str


class LayerBuildFailed(RuntimeError):
    """The dependency layer could not be installed; the text is pip's own."""


def code_files(root: Path = ROOT) -> Iterator[tuple[str, Path]]:
    """Yield (name in the archive, file) of everything a function imports of ours, sorted.

    Handlers and workflows stand at the top beside the package `onward`, without the parts of it
    that run on a user's machine, and without what an interpreter or an editor left behind.
    """
    found: dict[str, Path] = {}
    for base in (root / "functions", root / "shared"):
        for path in base.rglob("*"):
            name = path.relative_to(base).as_posix()
            if path.is_file() and _is_shipped(name):
                found[name] = path
    yield from sorted(found.items())


def build_code(target: Path, root: Path = ROOT) -> Archive:
    """Write the code archive into a directory."""
    return _write(target / "code.zip", code_files(root))


def layer_digest(architecture: str) -> str:
    """Return what identifies a layer: its lock and how it is installed for which platform."""
    kind = "bytecode" if _builds_runtime_bytecode() else "source"
    recipe = (LOCK.read_text(), kind, *_install_options(architecture))
    return hashlib.sha256("\n".join(recipe).encode()).hexdigest()


def build_layer(target: Path, architecture: str) -> Archive:
    """Install the locked wheels for the Lambda runtime and archive them; built once per digest.

    Needs a package registry the first time. Raises LayerBuildFailed with what the installer said,
    for instance that a wheel is missing for the platform: nothing is ever compiled here.
    """
    digest = layer_digest(architecture)
    archive = Archive(target / f"layer-{digest}.zip", digest)
    if archive.path.exists():
        return archive
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        installed = Path(scratch) / "python"
        _install(installed, architecture)
        files = ((path.relative_to(scratch).as_posix(), path) for path in installed.rglob("*"))
        built = _write(
            Path(scratch) / "layer.zip",
            sorted((name, path) for name, path in files if path.is_file()),
        )
        built.path.replace(archive.path)
    return archive


def _install_options(architecture: str) -> tuple[str, ...]:
    """Return pip's options: wheels for the runtime only, as they are, each with a known hash."""
    return (
        *("--no-deps", "--no-compile", "--require-hashes", "--only-binary", ":all:"),
        *("--implementation", "cp", "--python-version", ".".join(map(str, RUNTIME_PYTHON))),
        *("--platform", _WHEEL_PLATFORMS[architecture]),
    )


def _install(target: Path, architecture: str) -> None:
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--target", str(target), "--requirement", str(LOCK)),
        *_install_options(architecture),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LayerBuildFailed(done.stderr.strip())
    if _builds_runtime_bytecode():
        # Unchecked: archive times are fixed, and nobody edits /opt in a Lambda sandbox.
        compileall.compile_dir(
            target, quiet=1, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
        )


def _builds_runtime_bytecode() -> bool:
    """Whether this interpreter's byte code is what the runtime reads; another's is dead weight."""
    return sys.version_info[:2] == RUNTIME_PYTHON


def _is_shipped(name: str) -> bool:
    path = PurePosixPath(name)
    if any(part == "__pycache__" or part.startswith(".") for part in path.parts):
        return False
    if any(part.endswith(".egg-info") for part in path.parts) or path.suffix == ".pyc":
        return False
    return not any(path.is_relative_to(prefix) for prefix in _NOT_SHIPPED)


def _write(target: Path, files: Iterator[tuple[str, Path]] | list[tuple[str, Path]]) -> Archive:
    digest = hashlib.sha256()
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files:
            body = path.read_bytes()
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = _MODE
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, body)
            digest.update(f"{name}\0{len(body)}\0".encode())
            digest.update(body)
    return Archive(target, digest.hexdigest())
