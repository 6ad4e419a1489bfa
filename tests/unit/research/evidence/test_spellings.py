"""Text that must not leave the machine, however it is spelled."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.research.evidence.policy.file import default_policy, parse_policy

EMAIL, CARD, KEY = "ann.bee@mail.example", "4111 1111 1111 1111", "sk-abcdefghijklmnop123"
Spell = Callable[[str], str]


def every(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def wide(text: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text)


def times(count: int, spell: Spell) -> Spell:
    def again(text: str) -> str:
        for _ in range(count):
            text = spell(text)
        return text

    return again


def mixed(text: str) -> str:
    return "".join(spell(letter) for letter, spell in zip(text, itertools.cycle([str, every, wide, quote]), strict=False))


SPELLINGS: dict[str, Spell] = {
    "as it is": str,
    "quoted": lambda text: quote(text, safe=""),
    "with plus signs": quote_plus,
    "every letter": every,
    "in small hexadecimals": lambda text: every(text).lower(),
    "twice": times(2, every),
    "three times": times(3, lambda text: quote(text, safe="")),
    "thirty times": times(30, lambda text: quote(text, safe="")),
    "in wide letters": wide,
    "in wide letters, quoted": lambda text: quote(wide(text)),
    "in wide letters, quoted twice": lambda text: every(quote(wide(text))),
    "mixed": mixed,
    "mixed, quoted": lambda text: quote(mixed(text)),
    "with invisible letters": "\u200b".join,
    "with soft hyphens, quoted": lambda text: quote("\u00ad".join(text)),
    "with joiners": "\u2060".join,
    "underlined": lambda text: "".join(f"{letter}\u0332" for letter in text),
    "as entities": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    "as hexadecimal entities, quoted": lambda text: quote("".join(f"&#x{ord(letter):x};" for letter in text)),
    "as %u escapes": lambda text: "".join(f"%u{ord(letter):04x}" for letter in text),
    "as \\u escapes": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "in bold mathematical letters": lambda text: "".join(
        chr(0x1D41A + ord(letter) - 97) if "a" <= letter <= "z" else letter for letter in text
    ),
    "in Arabic digits": lambda text: "".join(chr(0x660 + int(letter)) if letter.isdigit() else letter for letter in text),
    "with narrow spaces": lambda text: text.replace(" ", "\u202f"),
}


@pytest.mark.parametrize("secret", [EMAIL, CARD, KEY])
@pytest.mark.parametrize("how", SPELLINGS)
@pytest.mark.parametrize("around", ["https://collect.example/?q={}", "https://collect.example/{}/x", "what about {} then"])
def test_every_spelling_is_refused_and_not_repeated(secret: str, how: str, around: str) -> None:
    written = SPELLINGS[how](secret)
    found = default_policy().check_outgoing(around.format(written))
    rules = {EMAIL: "outgoing.email_address", CARD: "outgoing.payment_card", KEY: "outgoing.api_key"}
    assert rules[secret] in {violation.rule for violation in found}
    assert all(secret not in str(violation) and written not in str(violation) for violation in found)


@given(st.lists(st.sampled_from([name for name in SPELLINGS if "thirty" not in name]), min_size=1, max_size=3))
def test_spellings_on_top_of_one_another_are_refused(names: list[str]) -> None:
    written = EMAIL
    for name in names:
        written = SPELLINGS[name](written)
    assert default_policy().check_outgoing(f"https://collect.example/?q={written}")


def test_what_is_encoded_without_end_is_refused() -> None:
    endless = "%25" + "25" * 100_000 + "40"
    assert [violation.rule for violation in default_policy().check_outgoing(endless)] == ["outgoing.spelling"]


def test_a_rule_says_itself_whether_case_matters() -> None:
    text = "```toml policy\n[outgoing]\nplain = 'tulip bulb'\nany = '(?i)rose.bush'\n```\n"
    ours = parse_policy(text, "POLICY.md")
    assert [each.rule for each in ours.check_outgoing("tulip%20bulb")] == ["outgoing.plain"]
    assert ours.check_outgoing("TULIP%20BULB") == []
    assert [each.rule for each in ours.check_outgoing("ROSE+BUSH")] == ["outgoing.any"]


@pytest.mark.parametrize(
    "text",
    [
        "https://en.wikipedia.example/wiki/Caf%C3%A9_culture?lang=en&n=100%25",
        "https://a.example/?page=2&sort=price+asc&from=2020-01-01",
        "how much is 50% of 1,000?",
        "AT&T; history",
    ],
)
def test_plain_addresses_and_queries_may_leave(text: str) -> None:
    assert default_policy().check_outgoing(text) == []
