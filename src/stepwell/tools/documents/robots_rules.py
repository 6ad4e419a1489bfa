"""The rules of a robots.txt according to RFC 9309, and what they mean for one address.

It is pure, so that it can run where foreign text is read (`reader_child`). Parsing takes linear time: a repeated group adds only its own
lines, and a repeated rule is stored once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote, unquote_to_bytes

PRODUCT = "Stepwell"
"""The name by which a robots.txt addresses us. Our requests carry it too."""
LONGEST_URL = 2048
"""No address that we request is longer."""
_FEW_CHARACTERS = 20_000
_LONGEST_TARGET = 12 * LONGEST_URL
"""A character of an address becomes at most four bytes, written as `%F0%9F%8C%8D`. A longer pattern can match no address."""
_AGENT = re.compile(r"\*|[A-Za-z_-]*")
_DELAY = re.compile(r"\d{1,6}(\.\d{1,3})?")
_STARS = re.compile(r"\*{2,}")


@dataclass(frozen=True)
class Rules:
    """One file's rules for us: (allow, pattern) lines of the group that names us, or else of the group for all."""

    lines: tuple[tuple[bool, str], ...] = ()
    delay_s: float = 0.0

    @cached_property
    def size(self) -> int:
        """The total length of all patterns."""
        return sum(len(pattern) for _, pattern in self.lines)

    @property
    def are_few(self) -> bool:
        """Whether checking them takes only milliseconds, whatever they contain."""
        return self.size <= _FEW_CHARACTERS

    def allow(self, target: str) -> bool:
        """Whether we may fetch the target. The longest matching pattern decides; if two are equally long, `allow` wins."""
        path = _normal(target)
        if path == "/robots.txt":
            return True
        hits = [(len(pattern), allowed) for allowed, pattern in self.lines if _matches(pattern, path)]
        return max(hits)[1] if hits else True


def parse(text: str, product: str = PRODUCT) -> Rules:
    """Parse a file. Unknown lines are ignored, as the RFC requires."""
    groups = {product.lower(): _Group(), "*": _Group()}
    current: dict[str, _Group] = {}
    in_rules = True
    for line in text.lstrip("\ufeff").splitlines():
        name, _, value = line.split("#", 1)[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if name == "user-agent":
            if in_rules:
                current, in_rules = {}, False
            token = _AGENT.match(value)
            agent = token.group().lower() if token else ""
            if agent in groups:
                current[agent] = groups[agent]
                groups[agent].named = True
        elif name in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for group in current.values():
                group.add(name, value)
    ours = groups[product.lower()]
    chosen = ours if ours.named else groups["*"]
    return Rules(tuple((allowed, pattern) for pattern, allowed in chosen.rules.items()), chosen.delay_s)


@dataclass
class _Group:
    rules: dict[str, bool] = field(default_factory=dict)
    """Pattern -> whether it is allowed. If a pattern is both allowed and disallowed, `allow` wins, so one value per pattern is enough."""
    delay_s: float = 0.0
    named: bool = False

    def add(self, name: str, value: str) -> None:
        if name == "crawl-delay":
            self.delay_s = float(value) if _DELAY.fullmatch(value) else self.delay_s
        elif value.startswith(("/", "*")):
            pattern = _STARS.sub("*", _normal(value))
            if len(pattern) - pattern.count("*") <= _LONGEST_TARGET:
                self.rules[pattern] = self.rules.get(pattern, False) or name == "allow"


def _normal(target: str) -> str:
    """One spelling for each path: `%7e`, `%7E` and `~` are the same (RFC 9309, 2.2.2)."""
    return quote(unquote_to_bytes(target.replace("%2F", "%252F").replace("%2f", "%252F")), safe="/*$?=&%:@!'()+,;~-._")


def _matches(pattern: str, path: str) -> bool:
    """`*` matches anything, `$` at the end matches the end. Each piece is searched for once, so no pattern can be slow."""
    anchored = pattern.endswith("$")
    first, *rest = (pattern[:-1] if anchored else pattern).split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    for piece in rest[:-1] if anchored else rest:
        found = path.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    if not anchored:
        return True
    if not rest:
        return place == len(path)
    return path.endswith(rest[-1]) and len(path) - len(rest[-1]) >= place
