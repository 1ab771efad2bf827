"""Reading XML that others wrote: as a stream of events, within bounds, without a tree.

A package of a few kilobytes can unpack to gigabytes of elements, one attribute of 100 MB or a
million open tags. Nothing here grows with what is not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import IO, Final, NamedTuple, Protocol
from xml.parsers.expat import ExpatError, ParserCreate

CHUNK: Final = 64 * 1024
# Expat holds a tag, a comment or an attribute until it is complete, and begins it anew with every
# chunk. Text is not held.
MAX_TOKEN: Final = 1024 * 1024
MAX_DEPTH: Final = 50_000
MAX_TAGS: Final = 500_000
MAX_PATH: Final = 10  # nothing that is asked for lies deeper


class UnreadableMarkup(ValueError):
    """Markup that is not well-formed, declares entities, or exceeds a bound; says which."""


class Handler(Protocol):
    """What is told of each element and text; names are "namespace}local", or "local" without."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """A start tag."""

    def end(self, name: str) -> None:
        """An end tag."""

    def text(self, data: str) -> None:
        """Some text: a whole one may come in parts."""


class Tag(NamedTuple):
    """A start tag: the local names from the root down to it, and attributes by local names."""

    path: tuple[str, ...]
    attributes: Mapping[str, str]


def no_tick() -> None:
    """Read on, however long it takes."""


def events(
    source: IO[bytes], handler: Handler, tick: Callable[[], None] = no_tick
) -> Iterator[None]:
    """Feed a part to `handler`, and pause after each chunk of it.

    `tick` is called before each chunk: it may raise to end a reading that takes too long.

    Raises:
        UnreadableMarkup: also whatever the handler raises.
    """
    parser = ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    fed = 0
    try:
        while chunk := source.read(CHUNK):
            tick()
            parser.Parse(chunk, False)  # noqa: FBT003 - its signature
            fed += len(chunk)
            if fed - parser.CurrentByteIndex > MAX_TOKEN:
                raise UnreadableMarkup("a single tag of more than a megabyte")
            yield
        parser.Parse(b"", True)  # noqa: FBT003
        yield
    except ExpatError as error:
        raise UnreadableMarkup(str(error)) from error


def tags(
    source: IO[bytes], root: str, wanted: Collection[str], tick: Callable[[], None] = no_tick
) -> Iterator[Tag]:
    """The start tags of these local names, of a small part whose outermost element is a `root`.

    Only those in the namespace of the root, whichever that is: the usual one and that of ISO 29500
    Strict differ in nothing else.
    """
    handler = _Tags(root, frozenset(wanted))
    for _ in events(source, handler, tick):
        yield from handler.taken
        handler.taken.clear()


def local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]


class _Tags:
    """Gathers start tags, no more than `MAX_TAGS` of them."""

    def __init__(self, root: str, wanted: frozenset[str]) -> None:
        self.taken: list[Tag] = []
        self._root = root
        self._wanted = wanted
        self._namespace = ""
        self._path: list[str] = []
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, short = name.rpartition("}")
        if not self._path:
            if short != self._root:
                raise UnreadableMarkup(f"its outermost element is {short!r}, not {self._root!r}")
            self._namespace = namespace
        self._count += 1
        if self._count > MAX_TAGS or len(self._path) >= MAX_DEPTH:
            raise UnreadableMarkup(f"more than {MAX_TAGS:,} elements in a part that needs few")
        own = namespace == self._namespace
        self._path.append(short if own else "")
        if own and short in self._wanted and len(self._path) <= MAX_PATH:
            found = {local(key): value for key, value in attributes.items()}
            self.taken.append(Tag(tuple(self._path), found))

    def end(self, _name: str) -> None:
        self._path.pop()

    def text(self, data: str) -> None:
        """Small parts say everything in attributes."""


def _refuse_doctype(*_declared: object) -> None:
    raise UnreadableMarkup("it declares a document type, which no such part needs")
