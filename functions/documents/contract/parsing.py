"""A contract's paragraphs, from a .docx or text file."""

from __future__ import annotations

from onward.sdk import InvalidInput

from documents.contract.models import Document
from documents.contract.plain_text import HEAD, is_text, read_text
from documents.contract.sections import arranged
from documents.contract.word import WORD, read_word
from documents.office.opening import (
    ENCRYPTED,
    OLD_DOCUMENT,
    OLD_WORKBOOK,
    is_package,
    is_web_page,
    old_office,
    refuse_empty,
    signature,
)

MAX_CHARACTERS = 3_000_000
LEAST_WORDS = 5
_TAKEN = "Contracts are taken as .docx, .txt or .md files."


def parse(body: bytes) -> Document:
    """The paragraphs in reading order, with their headings and clause numbers.

    Raises:
        InvalidInput: it is no such file, unsafe to open, damaged or without text; for people.
    """
    refuse_empty(body)
    if is_package(body):
        lines, notes = read_word(body)
    else:
        _refuse_foreign(body)
        lines, notes = read_text(body)
    characters = sum(len(line.text) for line in lines)
    if characters > MAX_CHARACTERS:
        raise InvalidInput(
            f"The document holds {characters:,} characters; a contract of up to "
            f"{MAX_CHARACTERS:,} can be reviewed. Upload its parts one by one."
        )
    if sum(len(line.text.split()) for line in lines) < LEAST_WORDS:
        raise InvalidInput(
            "There is no text in the document. If its pages are scanned pictures, "
            "have their text recognised (OCR) first."
        )
    return Document(
        format="docx" if is_package(body) else "text", blocks=arranged(lines), notes=notes
    )


def _refuse_foreign(body: bytes) -> None:
    """Raise InvalidInput for what is neither a package nor text."""
    old = old_office(body)
    if old == ENCRYPTED:
        raise InvalidInput(
            "The document is protected with a password, so nothing in it can be read. "
            "Remove the password in Word (File, Info, Protect Document) and upload it again."
        )
    if old == OLD_DOCUMENT:
        raise InvalidInput(f"This is a document in the old .doc format. {WORD.save_as}")
    if old:
        what = "a workbook in the old .xls format" if old == OLD_WORKBOOK else "an old Office file"
        raise InvalidInput(f"This is {what}, not a contract. {_TAKEN}")
    known = signature(body)
    if known:
        raise InvalidInput(f"This is {known}. {_TAKEN} {WORD.save_as}")
    if not is_text(body):
        raise InvalidInput(f"The format of this file is not one that is known here. {_TAKEN}")
    if is_web_page(body[:HEAD].decode("latin-1")):
        raise InvalidInput(f"This is a web page. {_TAKEN} {WORD.save_as}")
