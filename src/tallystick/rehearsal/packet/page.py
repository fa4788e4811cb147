"""The packet as one HTML file: no script, nothing loaded, light and dark, printable on A4."""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from typing import Any, Final

from tallystick.receipt.columns import visible
from tallystick.rehearsal.packet.drawing import timeline_svg
from tallystick.rehearsal.packet.rows import Row, Section, sections, summary

_STYLE: Final = """
:root{color-scheme:light dark;--bg:light-dark(#fbfbfa,#101316);--surface:light-dark(#fff,#16191d);
--ink:light-dark(#14181d,#e9ecef);--ink-2:light-dark(#434b55,#b6bec7);
--ink-3:light-dark(#626b76,#8f99a4);--line:light-dark(#e1e4e7,#272c32);
--work:light-dark(#4a535e,#aab3bd);--work-soft:light-dark(#c9cfd6,#4b545e);
--accent:light-dark(#1c4f9c,#8db4ff)}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1040px;padding:40px clamp(16px,4.5vw,64px) 72px;background:var(--bg);
color:var(--ink);font:400 15px/1.5 ui-sans-serif,system-ui,"Segoe UI",Roboto,Arial,sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1{font-size:30px;line-height:1.2;font-weight:600;letter-spacing:-.015em;margin:4px 0 10px}
h2{font-size:19px;font-weight:600;margin:40px 0 8px}
.over{margin:0;font-size:13px;color:var(--ink-3)}.lead{margin:0 0 28px;color:var(--ink-2)}
table{width:100%;border-collapse:collapse;font-size:13.5px}
caption{text-align:left;font-size:13px;color:var(--ink-3);padding-bottom:4px}
th,td{text-align:left;vertical-align:top;padding:7px 16px 7px 0;border-top:1px solid var(--line)}
th{width:13.5em;font-weight:400;color:var(--ink-2)}
code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.88em;color:var(--ink-3)}
td.by{width:17em}.unk-b{display:inline-block;vertical-align:-1px;margin-right:7px}
figure{margin:0;padding:14px 0 6px;border-block:1px solid var(--line)}
.key{display:flex;flex-wrap:wrap;gap:2px 20px;margin:10px 0 0;padding:0;list-style:none;
font-size:12.5px;color:var(--ink-2)}.key svg{vertical-align:-1px;margin-right:7px}
.run{display:block;overflow:visible}text{fill:var(--ink-2);font-size:11.5px}
.tick{fill:var(--ink-3)}.middle{text-anchor:middle}.end{text-anchor:end}
.al{fill:var(--ink)}.al-no{fill:var(--surface);stroke:var(--ink);stroke-width:1.5}
.al-su{fill:var(--work-soft)}.adv{fill:var(--work)}.soft{fill:var(--work-soft)}
.rep{fill:url(#stripe);stroke:var(--work)}.lost{fill:var(--surface);stroke:var(--work)}
.wait{fill:var(--work-soft);stroke:var(--work);stroke-dasharray:2 2.5}
.unk{fill:url(#hatch);stroke:var(--ink-2)}.h-bg,.s-bg{fill:var(--surface)}
.h-ln{stroke:var(--ink);stroke-width:1.6}.s-ln{fill:var(--work)}
.dots{stroke:var(--work);stroke-width:2.5;stroke-dasharray:2 4}
.fault{stroke:var(--ink);stroke-width:2;fill:none}.notch{fill:var(--bg)}
.back,.notice{stroke:var(--accent);stroke-width:2;fill:none}
footer{margin-top:44px;font-size:13px;color:var(--ink-3)}
@media(max-width:640px){td.by{display:none}th{width:9.5em}}
@media print{:root{color-scheme:light}body{padding:0;max-width:none;font-size:12px}
h2{break-after:avoid}tr,figure{break-inside:avoid}@page{size:A4;margin:16mm}}
"""
_KEYS: Final = (
    ("adv", "advancing"),
    ("soft", "starting, saving"),
    ("lost", "lost later"),
    ("rep", "replayed"),
    ("wait", "waiting"),
    ("unk", "unknown"),
)
_SIGNS: Final = (
    ('<path class="fault" d="M2 2l10 10M2 12l10-10"/>', "interrupted"),
    ('<path class="adv" d="M0 1h2l5 9 5-9h2v13h-14z"/>', "checkpoint committed"),
    ('<path class="back" d="M7 14V2M3 7l4-5 4 5"/>', "went on from a checkpoint"),
)
_HASHED: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()


def packet_html(packet: dict[str, Any]) -> str:
    """Write a packet as one page; what comes from others is text and nothing else."""
    run = _text(packet["run"])
    return "".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; ',
            f"style-src 'sha256-{_HASHED}'\">",
            f"<title>Recovery packet: {run}</title><style>{_STYLE}</style></head><body>",
            f'<main><p class="over">Recovery packet</p><h1>{run}</h1>',
            f'<p class="lead">{_text(summary(packet))}</p>',
            _figure(packet),
            *(_section(each) for each in sections(packet)),
            "</main><footer>Each number names its records by the first digits of their digests. ",
            "packet.json has them in full; the bundles beside it have the records, and ",
            "<code>tallystick packet verify</code> computes this page from them again.</footer>",
            "</body></html>\n",
        )
    )


def _figure(packet: dict[str, Any]) -> str:
    picture = timeline_svg(packet)
    if not picture:
        return ""
    keys = "".join(
        f'<li><svg width="22" height="12" aria-hidden="true"><rect class="{name}" x="1" y="1" '
        f'width="20" height="10"/></svg>{label}</li>'
        for name, label in _KEYS
    ) + "".join(
        f'<li><svg width="14" height="14" aria-hidden="true">{sign}</svg>{label}</li>'
        for sign, label in _SIGNS
    )
    return f'<figure>{picture}<figcaption><ul class="key">{keys}</ul></figcaption></figure>'


def _section(section: Section) -> str:
    rows = "".join(_row(each) for each in section.rows)
    title = _text(section.title)
    return f"<section><h2>{title}</h2><table><tbody>{rows}</tbody></table></section>"


def _row(row: Row) -> str:
    mark = "" if row.is_known else _UNKNOWN
    return (
        f'<tr><th scope="row">{_text(row.label)}</th><td>{mark}{_text(row.text)}</td>'
        f'<td class="by">{" ".join(_proof(row))}</td></tr>'
    )


_UNKNOWN: Final = (
    '<svg class="unk-b" width="16" height="11" aria-hidden="true">'
    '<rect class="unk" x=".5" y=".5" width="15" height="10"/></svg>'
)


def _proof(row: Row) -> Iterator[str]:
    for each in row.evidence[:3]:
        yield f"<code>{_text(each.removeprefix('sha256:')[:8])}</code>"
    if len(row.evidence) > 3:
        yield f"<code>and {len(row.evidence) - 3} more</code>"


def _text(text: str) -> str:
    return escape(visible(text, ascii_only=False))
