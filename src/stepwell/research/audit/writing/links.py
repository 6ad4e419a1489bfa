"""Removes every address from a model's text, so that the only links in a report are those that code puts there.

Removed and counted: Markdown links and images (the label stays), reference definitions, HTML tags, bare addresses with a scheme,
`www.`, or a host with a path. A bare domain name ("example.com") counts as a word: nothing turns it into a link.

Rule to keep: each pattern starts at one place per run of characters, and there are only a few passes over the text, so that the time
grows only linearly with its length.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]{0,2000}>|<(?:[a-zA-Z][\w+.-]{1,31}:|[^\s<>@]{1,64}@)[^\s<>]{0,2000}>")
_DEFINITION = re.compile(r"^[ \t>]*\[[^\[\]\n]{1,200}\]:[ \t]*\S[^\n]*$", re.MULTILINE)
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,500})\]\((?:<[^<>\n]{0,2000}>|[^()\s]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,2000})?)(?:\s[^()\n]{0,500})?\)"
)
_REFERENCE = re.compile(r"!?\[([^\[\]\n]{1,500})\]\[([^\[\]\n]{0,200})\]")
ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,31}:)?//[^\s<>\"'|]*"  # any scheme, or none
    r"|\bwww\.[^\s<>\"'|]*"
    r"|\b(?:mailto|javascript|data|file|tel|ftp|xmpp|magnet|blob|ipfs):[^\s<>\"'|]+"
    r"|(?<![\w.-])[\w.-]+\.[a-z]{2,24}(?::\d+)?/[^\s<>\"'|]*",  # only from the first character of a run
    re.IGNORECASE,
)
_MAX_PASSES = 6
_MATERIAL = str.maketrans(dict.fromkeys("[]()<>&:/|", " "))
EVIDENCE_IDS = r"e\d{1,6}(?:\s*[,;]\s*e\d{1,6})*"
"""The pattern of the ids in a citation: `e1`, or `e1, e2`."""
CITATION = re.compile(rf"\[\s*({EVIDENCE_IDS})\s*\]")
"""A citation of evidence, which stays when links are removed."""
_ONLY_IDS = re.compile(rf"\s*{EVIDENCE_IDS}\s*")


@dataclass(frozen=True, slots=True)
class Stripped:
    """A text without links, and how many there were."""

    text: str
    removed: int


def strip_links(text: str) -> Stripped:
    """Remove links until none is left, because the remains of one link must not form another."""
    removed = 0
    for _ in range(_MAX_PASSES):
        before = text
        text = _INVISIBLE.sub("", html.unescape(text.replace("\r\n", "\n").replace("\r", "\n")))
        for form, replacement in ((_DEFINITION, ""), (_LINK, _label), (_REFERENCE, _label), (ADDRESS, ""), (_TAG, "")):
            text, count = form.subn(replacement, text)
            removed += count if form is not _TAG else 0  # the address in a tag is already counted
        if text == before:
            return Stripped(text.replace("](", "] ("), removed)
    # Only someone who wants to hide a link nests links this deep, so we remove all the characters that links are made of.
    bare, count = ADDRESS.subn(" ", text.translate(_MATERIAL))
    return Stripped(bare, removed + count + 1)


def _label(match: re.Match[str]) -> str:
    """The words of a link; evidence ids stay citations."""
    label = match[1]
    if not _ONLY_IDS.fullmatch(label):
        return label
    second = match[2] if match.re is _REFERENCE else ""
    return f"[{label}] [{second}]" if _ONLY_IDS.fullmatch(second) else f"[{label}]"
