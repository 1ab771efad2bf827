"""What the pages of all workflows share: one HTML file for screen, light and dark, and for paper.

No scripts, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from onward.sdk import PAGE_HEAD

STYLE: Final = """
:root{--ink:#1c2126;--soft:#5b6670;--faint:#e4e7ea;--paper:#fff;--wash:#f6f7f8;--mark:#2f6f8f}
@media (prefers-color-scheme:dark){:root{--ink:#e3e7ea;--soft:#9aa5ae;--faint:#31383e;
--paper:#15191c;--wash:#1d2226;--mark:#6fb3d2}}
*{box-sizing:border-box}
html{background:var(--paper)}
body{margin:0;color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:62rem;margin:0 auto;padding:3rem 1.5rem 4rem}
h1,h2,h3{font-family:Charter,"Bitstream Charter","Iowan Old Style",Georgia,serif;line-height:1.2;
font-weight:600;overflow-wrap:anywhere;text-wrap:balance}
h1{font-size:2.2rem;margin:0 0 .4rem}
h2{font-size:1.5rem;margin:0 0 1rem}
h3{font-size:1rem;margin:2rem 0 .75rem;font-family:inherit}
small{font-weight:400;color:var(--soft);font-size:.9rem;margin-left:.5rem}
.kicker{margin:0 0 .5rem;color:var(--mark);font-size:.8rem;font-weight:600;letter-spacing:.08em;
text-transform:uppercase}
.lead{margin:0;color:var(--soft)}
nav ol{list-style:none;margin:1.5rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.4rem 1.75rem}
nav span,.none{color:var(--soft)}
nav span{font-size:.9rem}
a{color:var(--mark);text-underline-offset:.15em}
section{margin-top:3rem;padding-top:2rem;border-top:1px solid var(--faint)}
figure{margin:0 0 1.75rem}
figcaption{font-weight:600;font-size:.9rem;margin-bottom:.5rem}
svg{display:block;width:100%;max-width:45rem;height:auto}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--soft)}
svg .name{fill:var(--ink)}
svg .value{fill:var(--ink);font-variant-numeric:tabular-nums}
svg .label{font-weight:600}
svg .grid{stroke:var(--faint)}
svg .axis{stroke:var(--soft)}
svg .bar{fill:var(--mark)}
svg .line{fill:none;stroke:var(--mark);stroke-width:2;stroke-linejoin:round}
svg .dot{fill:var(--mark)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
caption,summary{text-align:left;font-weight:600;font-size:.9rem;padding:.25rem 0 .5rem}
th,td{padding:.4rem .9rem .4rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--faint)}
th:last-child,td:last-child{padding-right:0}
thead th{color:var(--soft);font-weight:500;border-bottom-color:var(--soft);vertical-align:bottom}
tbody th{font-weight:500;overflow-wrap:anywhere;min-width:8rem}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.type,.detail{color:var(--soft)}
details{margin-top:1.5rem}
summary{cursor:pointer}
.preview{width:auto;font-size:.85rem}
.preview td{max-width:22rem;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.preview th{max-width:8rem;min-width:4rem;white-space:normal;overflow-wrap:anywhere}
.notes{margin:1rem 0 0;padding:.75rem 1rem .75rem 2rem;background:var(--wash);color:var(--soft);
font-size:.9rem;border-radius:4px;overflow-wrap:anywhere}
.notes li+li{margin-top:.25rem}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--faint)}
@media print{main{max-width:none;padding:0}figure,tr,h2,h3{break-inside:avoid}
h2,h3{break-after:avoid}.scroll{overflow:visible}nav{display:none}:root{--ink:#000;--paper:#fff}}
"""


def page(title: str, body: str, style: str = "") -> str:
    """A whole page; `body` is HTML, in which everything from elsewhere is escaped."""
    return (
        f"{PAGE_HEAD}"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def notes(texts: Iterable[str]) -> str:
    """A list of remarks, escaped; nothing if there are none."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul class=notes>{items}</ul>" if items else ""


def counted(number: int, what: str) -> str:
    """A number with its noun, as in "1 row" and "2,000 rows"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
