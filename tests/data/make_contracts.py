"""Writes contract.txt and contract.docx, the contracts of the tests. All of them is made up.

Run it again only to change them: `python tests/data/make_contracts.py`.
"""

from __future__ import annotations

import io
import zipfile
from html import escape
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
STAMP: Final = (2025, 1, 15, 9, 0, 0)
WORD: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"

TEXT: Final = """\
SERVICES AGREEMENT

This Services Agreement is made on 3 March 2025 between Alder Harbour Works Ltd, a company
registered in England and Wales with its offices at 4 Quay Row (the "Customer"), and Brightwater
Analytics GmbH, a company under German law in Bremen ("Provider").

1. SERVICES
1.1 The Provider shall measure the water level in the Customer's docks and report on it monthly.
1.2 Reports are delivered as spreadsheets by the fifth working day of each month.

2. TERM AND RENEWAL
2.1 This Agreement commences on 1 April 2025 and continues for an initial term of twenty-four (24)
months.
2.2 After the initial term it renews automatically for successive periods of twelve (12) months,
unless either party gives notice of non-renewal at least ninety (90) days before the end of the
then current period.

3. FEES AND PAYMENT
3.1 The Customer shall pay a fixed fee of EUR 4,800 per month, and a set-up fee of EUR 12,500.00
upon acceptance of the sensors.
3.2 Invoices are payable within forty-five (45) days of receipt of the invoice.
3.3 Overdue amounts bear interest at 0.5% per month.

4. CONFIDENTIALITY
4.1 Each party shall keep confidential the information that it receives from the other, and shall
use it for the purposes of this Agreement only.
4.2 The obligations of this section survive the end of this Agreement for a period of three (3)
years.

5. LIABILITY
5.1 Neither party shall be liable for indirect or consequential losses.
5.2 The Provider's total aggregate liability under this Agreement shall not exceed the fees paid
in the twelve (12) months before the claim.
5.3 Nothing in this Agreement limits liability for death, injury or fraud.

6. TERMINATION
6.1 Either party may terminate this Agreement if the other commits a material breach and fails to
remedy it within thirty (30) days of being told.
6.2 The Customer may terminate this Agreement for convenience by giving sixty (60) days' written
notice.

7. GOVERNING LAW
7.1 This Agreement is governed by the laws of England and Wales, and the courts of London have
exclusive jurisdiction.
"""

COVER: Final = (("Licensor", "Quillfern Software B.V."), ("Licensee", "Marrow & Daughters, Inc."))
CLAUSES: Final = (
    ("Heading1", "1. Licence"),
    ("", "1.1 The Licensor grants the Licensee a licence to use the Quillfern program."),
    ("Heading1", "2. Term"),
    ("", "2.1 This Agreement takes effect on June 1, 2024 and is perpetual until terminated."),
    ("Heading1", "3. Price"),
    ("", "3.1 The licence fee is $250,000 per year, payable in advance."),
    ("", "3.2 Support costs USD 1.5 million over the first three years, net 60."),
    ("Heading1", "4. Liability"),
    ("", "4.1 The Licensee's liability for breach of clause 1 is unlimited."),
    ("Heading1", "5. Termination"),
    (
        "",
        "5.1 The Licensor may terminate this Agreement at any time on fourteen (14) days' notice.",
    ),
    ("Heading1", "6. Law"),
    ("", "6.1 The laws of the State of New York apply to and govern this Agreement."),
)


def main() -> None:
    """Write both; the same bytes every time."""
    (HERE / "contract.txt").write_text(TEXT, encoding="utf-8")
    (HERE / "contract.docx").write_bytes(word(document()))


def document() -> str:
    """The main part: a title, a table, clauses, a tracked deletion and a hidden run."""
    rows = "".join(
        f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>"
        for row in COVER
    )
    opening = "This Software Licence Agreement is dated May 20, 2024. Its parties are:"
    deleted = '<w:del w:id="1" w:author="x"><w:r><w:delText>never </w:delText></w:r></w:del>'
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>Prices rise by 9% a year.</w:t></w:r>"
    return (
        f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:document xmlns:w="{WORD}">'
        f"<w:body>{paragraph('Software Licence Agreement', 'Title')}{paragraph(opening)}"
        f"<w:tbl>{rows}</w:tbl>{''.join(paragraph(text, style) for style, text in CLAUSES)}"
        f"<w:p>{deleted}{run('Signed by both parties.')}{hidden}</w:p>"
        "<w:sectPr/></w:body></w:document>"
    )


def paragraph(text: str, style: str = "") -> str:
    """A paragraph whose text is spread over two runs, as Word likes to do."""
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    half = len(text) // 2
    return f"<w:p>{styled}{run(text[:half])}{run(text[half:])}</w:p>"


def run(text: str) -> str:
    """Some text, white space included."""
    return f'<w:r><w:t xml:space="preserve">{escape(text, quote=False)}</w:t></w:r>'


def word(main_part: str) -> bytes:
    """The least package that Word opens."""
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
        f'PartName="/word/document.xml" ContentType="{kind}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": main_part,
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(zipfile.ZipInfo(name, STAMP), content)
    return target.getvalue()


if __name__ == "__main__":
    main()
