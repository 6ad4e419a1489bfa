"""The policy that research keeps to: a Markdown file with a part for the machine and a part to be judged.

The machine part is one fenced block that begins with ` ```toml policy `. Everything in it is enforced by code, on the plan and
again while it is carried out. Rules to be judged are list items of the form `- **J1** text`, anywhere in the file.

| key | rule id | meaning |
|---|---|---|
| `tools.allowed` | `tools.allowed` | tools a plan may use |
| `domains.allowed`, `domains.denied` | same | hosts (with their subdomains) that may, or must not, be asked; an empty `allowed` means any |
| `limits.requests`, `.tokens`, `.cost_usd`, `.seconds` | same | ceilings of one research |
| `outgoing.<name>` | same | patterns (RE2) of text that must not leave the machine |

A file that cannot be understood is refused with its line. There is no policy that silently allows everything.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn, get_args

from stepwell.apps.research.policy import Limits, Policy
from stepwell.apps.research.schemas import Tool
from stepwell.backends.patterns import TextPattern, compile_text
from stepwell.errors import ConfigurationError

_BLOCK = re.compile(r"^```toml policy[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_JUDGED = re.compile(r"^\s*[-*] \*\*(J\d+)\*\*:?\s+(.+)$", re.MULTILINE)


def default_policy() -> Policy:
    """The one that ships with Stepwell."""
    return parse_policy((resources.files("stepwell.apps.research") / "POLICY.md").read_text(encoding="utf-8"), "POLICY.md")


def load_policy(path: Path | None) -> Policy:
    """The named file, which has to be there; the default one when none is named."""
    if path is None:
        return default_policy()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The policy '{path.name}' cannot be read ({type(error).__name__}). Nothing runs without the policy that was named: "
            "correct STEPWELL_POLICY, or unset it for the default policy."
        ) from error
    return parse_policy(text, path.name)


def parse_policy(text: str, name: str) -> Policy:
    """Understand a policy, or refuse it with the line that is wrong."""
    text = text.replace("\r\n", "\n")
    block = _BLOCK.search(text)
    if block is None:
        raise ConfigurationError(f"{name} has no machine part. It needs one fenced block that begins with ```toml policy.")
    first_line = text.count("\n", 0, block.start(1)) + 1
    try:
        rules = tomllib.loads(block[1])
    except tomllib.TOMLDecodeError as error:
        line = _line_of(error, first_line)
        raise ConfigurationError(f"{name}, line {line}: {error}. Correct the policy; nothing runs until then.") from error
    return _Reader(name, text, rules).policy()


def _line_of(error: tomllib.TOMLDecodeError, first_line: int) -> int:
    match = re.search(r"line (\d+)", str(error))
    return first_line + int(match[1]) - 1 if match else first_line


@dataclass(frozen=True)
class _Reader:
    """Takes the machine part apart; whatever it does not know, it refuses."""

    name: str
    text: str
    rules: Mapping[str, Any]

    def policy(self) -> Policy:
        self._only(self.rules, "", {"tools", "domains", "limits", "outgoing"})
        tools = self._table("tools", {"allowed"})
        domains = self._table("domains", {"allowed", "denied"})
        return Policy(
            self.text,
            tools=frozenset(self._names(tools.get("allowed", get_args(Tool)), "tools.allowed", get_args(Tool))),
            allowed_domains=tuple(self._names(domains.get("allowed", ()), "domains.allowed")),
            denied_domains=tuple(self._names(domains.get("denied", ()), "domains.denied")),
            limits=self._limits(),
            outgoing={key: self._pattern(key, value) for key, value in self._table("outgoing", None).items()},
            judged=dict(_JUDGED.findall(self.text)),
        )

    def _limits(self) -> Limits:
        given = self._table("limits", {"requests", "tokens", "cost_usd", "seconds"})
        for key, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                self._refuse(f"limits.{key}", "has to be a number that is not negative")
        whole = {key: int(value) for key, value in given.items() if key in ("requests", "tokens")}
        return Limits(**{**given, **whole})

    def _pattern(self, key: str, value: Any) -> TextPattern:
        pattern = compile_text(value)
        if not isinstance(pattern, TextPattern):
            self._refuse(f"outgoing.{key}", "is not a pattern that RE2 understands (no look-around, no back-references)")
        return pattern

    def _table(self, key: str, known: set[str] | None) -> Mapping[str, Any]:
        table = self.rules.get(key, {})
        if not isinstance(table, dict):
            self._refuse(key, "has to be a table")
        if known is not None:
            self._only(table, f"{key}.", known)
        result: Mapping[str, Any] = table
        return result

    def _only(self, table: Mapping[str, Any], prefix: str, known: set[str]) -> None:
        for key in table.keys() - known:
            self._refuse(f"{prefix}{key}", f"is not known; known are {', '.join(sorted(known))}")

    def _names(self, values: Any, key: str, known: Iterable[str] = ()) -> list[str]:
        if not isinstance(values, list | tuple) or not all(isinstance(value, str) and value for value in values):
            self._refuse(key, "has to be a list of names")
        if known and (unknown := set(values) - set(known)):
            self._refuse(key, f"names {', '.join(sorted(unknown))}; known are {', '.join(known)}")
        return [value.lower().strip(".") for value in values]

    def _refuse(self, key: str, fact: str) -> NoReturn:
        lines = self.text.splitlines()
        last = key.rsplit(".", 1)[-1]
        line = next((n for n, text in enumerate(lines, 1) if re.match(rf"\s*\[?{re.escape(last)}\b", text)), None)
        where = f", line {line}" if line else ""
        raise ConfigurationError(f"{self.name}{where}: '{key}' {fact}. Correct the policy; nothing runs until then.")
