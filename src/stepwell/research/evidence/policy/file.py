"""The policy of research: a Markdown file with a part for the machine and a part that needs judgement.

The machine part is one fenced block that begins with ` ```toml policy `. Code enforces everything in it, on the plan and
again while it is carried out. Rules that need judgement are list items of the form `- **J1** text`, anywhere in the file.

| key | rule id | meaning |
|---|---|---|
| `tools.allowed` | `tools.allowed` | tools a plan may use: `web_search`, `fetch_page`, `search_documents` |
| `domains.allowed`, `domains.denied` | same | hosts (with subdomains) that we may, or must not, contact; an empty `allowed` means any |
| `limits.requests`, `.tokens`, `.cost_usd`, `.seconds` | same | ceilings of one research |
| `outgoing.<name>` | same | patterns (RE2) of text that must not leave the machine, however it is spelled |
| `sending.before_approval` | same | `false`: until a plan is approved we ask only a model on this machine; without one, rules plan |
| `addresses.after_reading` | same | what deep research may fetch once it has read a page or a result: `shown` (default), `ask`, `any` |
| `searches.after_private` | same | what deep research may search for once it has read your files: `question` (default), `ask`, `any` |

An invalid file is rejected with an error that names the line. No file is silently treated as allowing everything.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn, cast, get_args

from stepwell.backends.patterns import TextPattern, compile_text
from stepwell.errors import ConfigurationError, WebError
from stepwell.research.evidence.policy.rules import AfterPrivate, AfterReading, Limits, ResearchPolicy, StepTool
from stepwell.tools.web.addresses import read_url

_BLOCK = re.compile(r"^```toml policy[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_OPENING = re.compile(r"^```toml policy", re.MULTILINE)
_JUDGED = re.compile(r"^\s*[-*] \*\*(J\d+)\*\*:?\s+(.+)$", re.MULTILINE)


def default_policy() -> ResearchPolicy:
    """The policy that ships with Stepwell."""
    return parse_policy(
        (resources.files("stepwell.research.evidence.policy") / "POLICY.md").read_text(encoding="utf-8"), "POLICY.md"
    )


def load_policy(path: Path | None) -> ResearchPolicy:
    """The policy in a file, which must exist; without a path, the default one."""
    if path is None:
        return default_policy()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fact = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(
            f"The policy '{path.name}' cannot be read ({fact}). Nothing runs without the policy that was named: correct `--policy` or "
            "STEPWELL_POLICY, or leave both out for the default policy."
        ) from error
    return parse_policy(text, path.name)


def parse_policy(text: str, name: str) -> ResearchPolicy:
    """Parse a policy; if it is invalid, raise an error that names the line."""
    text = text.replace("\r\n", "\n")
    blocks = list(_BLOCK.finditer(text))
    if not blocks:
        where = _line_at(text, _OPENING.search(text))
        raise ConfigurationError(
            f"{name}{where} has no machine part. It needs one fenced block that begins with ```toml policy and is closed."
        )
    if len(blocks) > 1:
        raise ConfigurationError(f"{name}{_line_at(text, blocks[1])}: there is a second machine part. Merge the two.")
    block = blocks[0]
    first_line = text.count("\n", 0, block.start(1)) + 1
    try:
        rules = tomllib.loads(block[1])
    except tomllib.TOMLDecodeError as error:
        told, line = _syntax_error(error, block[1], first_line)
        raise ConfigurationError(f"{name}, line {line}: {told}. Correct the policy; nothing runs until then.") from error
    return _Reader(name, text, block[1].split("\n"), first_line, rules).policy()


def _line_at(text: str, found: re.Match[str] | None) -> str:
    return f", line {text.count(chr(10), 0, found.start()) + 1}" if found else ""


def _syntax_error(error: tomllib.TOMLDecodeError, block: str, first_line: int) -> tuple[str, int]:
    """The parser's message without the line number it gives, and the line number in the whole file."""
    match = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
    last = block.rstrip().count("\n") + 1
    within = int(match[1]) if match and match[1] else last
    return str(error)[: match.start()] if match else str(error), first_line + within - 1


@dataclass(frozen=True)
class _Reader:
    """Parses the machine part; rejects everything it does not know."""

    name: str
    text: str
    lines: Sequence[str]
    """The lines of the machine part; the first is line `first_line` of the file."""
    first_line: int
    rules: Mapping[str, Any]

    def policy(self) -> ResearchPolicy:
        self._only(self.rules, "", {"tools", "domains", "limits", "outgoing", "addresses", "searches", "sending"})
        tools = self._table("tools", {"allowed"})
        domains = self._table("domains", {"allowed", "denied"})
        return ResearchPolicy(
            self.text,
            tools=frozenset(self._names(tools.get("allowed", get_args(StepTool)), "tools.allowed", get_args(StepTool))),
            allowed_domains=self._hosts(domains.get("allowed", ()), "domains.allowed"),
            denied_domains=self._hosts(domains.get("denied", ()), "domains.denied"),
            limits=self._limits(),
            outgoing={key: self._pattern(key, value) for key, value in self._table("outgoing", None).items()},
            sends_before_approval=self._sends_before_approval(),
            after_reading=self._after_reading(),
            after_private=self._after_private(),
            judged=self._judged(),
        )

    def _sends_before_approval(self) -> bool:
        said = self._table("sending", {"before_approval"}).get("before_approval", True)
        if not isinstance(said, bool):
            self._refuse("sending.before_approval", "must be true or false")
        return said

    def _after_reading(self) -> AfterReading:
        said = self._table("addresses", {"after_reading"}).get("after_reading", ResearchPolicy.after_reading)
        if said not in get_args(AfterReading):
            self._refuse("addresses.after_reading", f"must be one of {', '.join(get_args(AfterReading))}")
        return cast("AfterReading", said)

    def _after_private(self) -> AfterPrivate:
        said = self._table("searches", {"after_private"}).get("after_private", ResearchPolicy.after_private)
        if said not in get_args(AfterPrivate):
            self._refuse("searches.after_private", f"must be one of {', '.join(get_args(AfterPrivate))}")
        return cast("AfterPrivate", said)

    def _limits(self) -> Limits:
        given = self._table("limits", {"requests", "tokens", "cost_usd", "seconds"})
        for key, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
                self._refuse(f"limits.{key}", "must be a number of at least 0")
            if key in ("requests", "tokens") and not isinstance(value, int):
                self._refuse(f"limits.{key}", "must be a whole number")
        return Limits(**given)

    def _judged(self) -> dict[str, str]:
        rules = _JUDGED.findall(self.text)
        if twice := [rule for rule, count in Counter(rule for rule, _ in rules).items() if count > 1]:
            line = _line_at(self.text, [found for found in _JUDGED.finditer(self.text) if found[1] == twice[0]][1])
            raise ConfigurationError(f"{self.name}{line}: there are two rules '{twice[0]}'. Give each its own number.")
        return dict(rules)

    def _pattern(self, key: str, value: Any) -> TextPattern:
        pattern = compile_text(value)
        if not isinstance(pattern, TextPattern):
            self._refuse(f"outgoing.{key}", "is not a pattern that RE2 understands (no look-around, no back-references)")
        return pattern

    def _table(self, key: str, known: set[str] | None) -> Mapping[str, Any]:
        table = self.rules.get(key, {})
        if not isinstance(table, dict):
            self._refuse(key, "must be a table")
        if known is not None:
            self._only(table, f"{key}.", known)
        result: Mapping[str, Any] = table
        return result

    def _only(self, table: Mapping[str, Any], prefix: str, known: set[str]) -> None:
        for key in table.keys() - known:
            self._refuse(f"{prefix}{key}", f"is unknown; the known ones are {', '.join(sorted(known))}")

    def _names(self, values: Any, key: str, known: Iterable[str] = ()) -> list[str]:
        if not isinstance(values, list | tuple) or not all(isinstance(value, str) and value for value in values):
            self._refuse(key, "must be a list of names")
        if known and (unknown := set(values) - set(known)):
            self._refuse(key, f"names {', '.join(sorted(unknown))}; the known ones are {', '.join(known)}")
        return list(values)

    def _hosts(self, values: Any, key: str) -> tuple[str, ...]:
        """Hosts as the transport writes them. We reject patterns and addresses, because they would match no host and so forbid nothing."""
        hosts = []
        for value in self._names(values, key):
            try:
                url = read_url(f"https://{value.strip('.')}")
            except WebError:
                url = None
            if url is None or str(url) != f"https://{url.authority}/" or url.authority != url.host:
                self._refuse(key, f"names '{value}', which is not a host name. Subdomains are included without a '*'")
            hosts.append(url.host)
        return tuple(hosts)

    def _refuse(self, key: str, fact: str) -> NoReturn:
        raise ConfigurationError(
            f"{self.name}, line {self._line(key)}: '{key}' {fact}. Correct the policy; nothing runs until then."
        )

    def _line(self, key: str) -> int:
        """The line where a key is set, or where its table begins, or where the machine part begins."""
        table, _, last = key.rpartition(".")
        here, heading = "", 0
        for place, text in enumerate(self.lines):
            if header := re.match(r"\s*\[\s*([\w.-]+)\s*\]", text):
                here = header[1]
                heading = heading or (place if here == (table or last) else 0)
            set_here = re.match(r"\s*([\w.\"'-]+)\s*=", text)
            if set_here and f"{here}.{set_here[1]}".replace('"', "").replace("'", "").strip(".") == key:
                return self.first_line + place
        return self.first_line + heading
