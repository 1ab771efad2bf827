"""Contracts are read from what people upload, or refused with a reason that they understand."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import pytest
from documents.contract import word
from documents.contract.models import Block
from documents.contract.parsing import parse
from onward.sdk import InvalidInput

from tests.data import make_contracts
from tests.unit.contracts import DOCX, TEXT, docx
from tests.unit.workbooks import archive, rewritten, workbook

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)
WORDS = "This contract has enough words to be one."


def reason(body: bytes) -> str:
    with pytest.raises(InvalidInput) as refused:
        parse(body)
    return str(refused.value)


def texts(body: bytes) -> list[str]:
    return [block.text for block in parse(body).blocks]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "The file is empty (0 bytes)"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "protected with a password"),
        (OLE + "WordDocument".encode("utf-16-le"), "old .doc format"),
        (OLE + "Workbook".encode("utf-16-le"), "a workbook in the old .xls format"),
        (OLE, "an old Office file"),
        (b"%PDF-1.7\n", "This is a PDF document. Contracts are taken as .docx, .txt or .md files"),
        (b"{\\rtf1 Dear", "an RTF document"),
        (b"<html><p>terms</p></html>", "a web page"),
        (bytes(range(256)) * 4, "not one that is known here"),
        (b" \n\n ", "not one that is known here"),
        (b"Only four words here", "There is no text in the document"),
        (workbook(Sheet=[["a"]]), "This is an Excel workbook (.xlsx), not a .docx document"),
        (archive(**{"ppt/presentation.xml": b""}), "a PowerPoint presentation"),
        (archive(mimetype=b"application/vnd.oasis.opendocument.text"), "an OpenDocument file"),
        (archive(**{"letter.txt": b"Dear"}), "a zip archive without a Word document"),
        (archive(**{"word/document.xml": b"<w:p"}), "damaged or uses something"),
        (docx("Hi"), "There is no text in the document"),
    ],
)
def test_what_is_no_contract_is_named(body: bytes, expected: str) -> None:
    """The message says what the file seems to be, or what is wrong with it."""
    assert expected in reason(body)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_truncated_document_is_called_cut_off(share: float) -> None:
    """Wherever the download broke off."""
    body = DOCX.read_bytes()

    assert "damaged or cut off" in reason(body[: int(len(body) * share)])


def test_a_damaged_part_is_told() -> None:
    """Bytes that do not match their checksum are no contract."""
    body = bytearray(DOCX.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(body))) as package:
        part = package.getinfo("word/document.xml")
    body[part.header_offset + 120] ^= 0xFF

    assert "damaged" in reason(bytes(body))


def test_a_zip_bomb_is_not_opened() -> None:
    """It is refused by its declared size, before anything is unpacked."""
    bomb = rewritten(
        DOCX.read_bytes(), lambda part, old: b" " * 20_000_000 if "document" in part else old
    )

    assert "zip bomb" in reason(bomb)


def test_a_document_too_large_for_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures do not count, text does."""
    monkeypatch.setattr(word, "WORD", replace(word.WORD, held=100))

    assert "Split it into smaller documents" in reason(DOCX.read_bytes())


@pytest.mark.parametrize("part", ["word/document.xml", "_rels/.rels"])
def test_entity_bombs_are_refused(part: str) -> None:
    """No part of a document declares entities; they are never expanded."""

    def plant(name: str, old: bytes) -> bytes:
        return BOMB + old[old.index(b"<", old.startswith(b"<?xml")) :] if name == part else old

    assert "cannot be read" in reason(rewritten(DOCX.read_bytes(), plant))


def test_a_text_beyond_all_contracts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading it would outlast the step."""
    monkeypatch.setattr("documents.contract.parsing.MAX_CHARACTERS", 50)

    assert "Upload its parts one by one" in reason(TEXT.read_bytes())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"**Term.** {WORDS}", f"Term. {WORDS}"),
        (f"**a **b** {WORDS}", f"**a b {WORDS}"),
        (f"Signed: ______ {WORDS}", f"Signed: ______ {WORDS}"),
        ("**a " * 100_000, ("**a " * 100_000).strip()),
    ],
    ids=["emphasis", "a mark within", "a line to sign on", "marks only"],
)
def test_marks_of_emphasis_are_taken_in_pairs(line: str, expected: str) -> None:
    """Each with the next one, so that a text of nothing but marks takes no longer than another."""
    assert [expected] == texts(line.encode())


def test_deep_nesting_is_read_without_recursion() -> None:
    """A document made to exhaust the stack is read like any other."""
    deep = "<w:sdt>" * 20_000 + f"<w:p><w:r><w:t>{WORDS}</w:t></w:r></w:p>" + "</w:sdt>" * 20_000

    assert [WORDS] == texts(docx(deep))


def test_the_samples_are_what_their_script_writes() -> None:
    """Whoever changes the script writes them anew."""
    assert make_contracts.TEXT == TEXT.read_text(encoding="utf-8")
    assert make_contracts.word(make_contracts.document()) == DOCX.read_bytes()


def test_lines_broken_by_hand_become_paragraphs() -> None:
    """Clauses, bullets and headings begin new ones; blank lines and rules end them."""
    clauses = b"One line\ngoes on.\n1.1 A clause\nof two lines.\n- a bullet"
    body = b"# Lease\n\n" + clauses + b"\n-----\nLAST WORDS\nend."

    blocks = parse(body).blocks

    assert ["Lease", "One line goes on.", "1.1 A clause of two lines.", "- a bullet"] == [
        block.text for block in blocks[:4]
    ]
    assert ["LAST WORDS", "end."] == [block.text for block in blocks[4:]]
    assert ["", "Lease", "Lease"] == [block.heading for block in blocks[:3]]
    assert "LAST WORDS" == blocks[5].heading


def test_long_lines_are_paragraphs_already() -> None:
    """As editors that wrap softly write them."""
    line = "word " * 40

    assert 3 == len(texts(f"{line}\n{line}\n{line}".encode()))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Größe and five more words here".encode("utf-16"), "Größe and five more words here"),
        ("\ufeffGröße and five more words here".encode(), "Größe and five more words here"),
        ("Größe and five more words here".encode("cp1252"), "Größe and five more words here"),
    ],
)
def test_encodings(body: bytes, text: str) -> None:
    """UTF-8, UTF-16 with a mark, or else Windows."""
    assert [text] == texts(body)


def test_a_guessed_encoding_is_said() -> None:
    """Some signs may be wrong."""
    assert "read as Windows-1252" in parse("Größe, five more words here".encode("cp1252")).notes[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7. Termination. Either party may end it.", ("7", "7. Termination")),
        ("7.2.1 Either party may end it early.", ("7.2.1", "")),
        ("ARTICLE IV", ("IV", "")),
        ("Section 9: Law of the land applies here to all.", ("9", "")),
        ("30 days are granted to all of them.", ("", "")),
    ],
)
def test_clause_numbers_and_run_in_headings(text: str, expected: tuple[str, str]) -> None:
    """A clause is quoted by its number; a number of days is none."""
    block = parse(f"{text}\n\nSome more words so that it is a contract.".encode()).blocks[0]

    assert expected == (block.clause, block.heading)


def test_places_are_for_people() -> None:
    """Clause, paragraph and heading."""
    block = Block(number=12, text="x", clause="7.2", heading="7. End")

    assert "clause 7.2, paragraph 12, under “7. End”" == block.place


def test_a_word_document_is_read_as_it_now_stands() -> None:
    """Deletions, field codes and fallbacks are left out; insertions, tables and boxes read."""
    body = docx(
        '<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Scope of work</w:t></w:r></w:p>',
        "<w:p><w:ins><w:r><w:t>New </w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText>"
        "</w:r></w:del><w:r><w:t>text</w:t><w:tab/><w:t>here</w:t></w:r></w:p>",
        "<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>non</w:t><w:noBreakHyphen/>"
        "<w:t>stop</w:t></w:r></w:p>",
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Fee</w:t></w:r></w:p></w:tc>"
        "<w:tc><w:p><w:r><w:t>EUR 5</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
        "<w:p><w:r><w:t>outer</w:t><w:pict><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:pict>"
        "<w:Fallback><w:p><w:r><w:t>twice</w:t></w:r></w:p></w:Fallback></w:r></w:p>",
    )

    document = parse(body)

    assert ["Scope of work", "New text here", "non-stop", "Fee | EUR 5", "boxed", "outer"] == [
        block.text for block in document.blocks
    ]
    assert {"Scope of work"} == {block.heading for block in document.blocks[1:]}
    assert ["tracked changes" in note for note in document.notes] == [True]


def test_hidden_text_and_what_stands_beside_are_told() -> None:
    """A hidden clause is a clause; comments and footnotes were not looked at."""
    document = parse(DOCX.read_bytes())
    target = io.BytesIO(docx(WORDS))
    with zipfile.ZipFile(target, "a") as package:
        package.writestr("word/comments.xml", "<c/>")

    assert "Signed by both parties.Prices rise by 9% a year." == document.blocks[-1].text
    assert any("hidden text" in note for note in document.notes)
    assert "Not read: comments, and what headers" in parse(target.getvalue()).notes[0]


def test_strict_documents_and_other_part_names_are_read_too() -> None:
    """The namespaces of ISO 29500 Strict; Office on the web calls the part document2."""
    strict = docx(WORDS, namespace="http://purl.oclc.org/ooxml/wordprocessingml/main")
    source, target = zipfile.ZipFile(io.BytesIO(docx(WORDS))), io.BytesIO()
    with source, zipfile.ZipFile(target, "w") as renamed:
        for part in source.namelist():
            content = source.read(part).replace(b"document.xml", b"document2.xml")
            renamed.writestr(part.replace("document.xml", "document2.xml"), content)

    assert [WORDS] == texts(strict) == texts(target.getvalue())
