"""What the review's page adds to the style sheet that all pages share."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root{--fine:#2e7d4f;--note:#2f6f8f;--concern:#a86200;--serious:#b3261e}
@media (prefers-color-scheme:dark){:root{--fine:#7cc79a;--note:#6fb3d2;--concern:#e5a94b;
--serious:#f2887f}}
.verdict{display:flex;flex-wrap:wrap;align-items:baseline;gap:.25rem 1.5rem;margin:1.75rem 0 0;
padding:1rem 1.25rem;background:var(--wash);border-left:4px solid var(--tone);border-radius:4px}
.verdict strong{font-size:1.25rem;color:var(--tone)}
.verdict p{margin:0;color:var(--soft)}
.fine{--tone:var(--fine)}.note{--tone:var(--note)}
.concern{--tone:var(--concern)}.serious{--tone:var(--serious)}
.chip{display:inline-block;padding:0 .5rem;border:1px solid var(--tone);border-radius:1rem;
color:var(--tone);font-size:.8rem;font-weight:600;line-height:1.5;white-space:nowrap}
.chip.dissent{border-style:dashed}
.overview thead th{white-space:nowrap}
.overview td{min-width:5.5rem}.overview td.value{min-width:12rem;color:var(--soft)}
.overview .value span{display:block}
.agreement{display:block;color:var(--soft);font-size:.8rem;margin-top:.15rem}
.by{color:var(--soft);font-size:.9rem}
article{margin-top:2.25rem;break-inside:avoid}
article h3{margin:0 0 .75rem;font-size:1.1rem;display:flex;flex-wrap:wrap;gap:.25rem .75rem;
align-items:center}
blockquote{margin:0 0 .9rem;padding:.1rem 0 .1rem 1rem;border-left:2px solid var(--faint)}
blockquote p{margin:0}
blockquote q{font-family:Charter,"Bitstream Charter","Iowan Old Style",Georgia,serif}
blockquote cite{display:block;color:var(--soft);font-size:.85rem;font-style:normal}
blockquote b{font-weight:600}
.votes{margin:0;display:grid;grid-template-columns:auto auto 1fr;gap:.3rem .9rem;font-size:.9rem}
.votes dt{color:var(--soft)}.votes dd{margin:0}
@media (max-width:34rem){.votes{grid-template-columns:auto 1fr}.votes .why{grid-column:1/-1}}
@media print{:root{--fine:#2e7d4f;--note:#2f6f8f;--concern:#a86200;--serious:#b3261e}
.verdict,.chip{print-color-adjust:exact}}
"""
