"""The policy file: understood, or refused with the line. Mission R6; known defect: a policy file silently not found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.errors import ConfigurationError
from stepwell.research.evidence.policy.file import default_policy, load_policy, parse_policy

PROSE = "# Ours\n\nallowed and requests stand in prose too.\n\n"


def policy(block: str, after: str = "") -> str:
    return f"{PROSE}```toml policy\n{block}\n```\n{after}"


def refused(text: str) -> str:
    with pytest.raises(ConfigurationError) as error:
        parse_policy(text, "POLICY.md")
    return str(error.value)


def line_of(message: str) -> int:
    found = re.match(r"POLICY\.md, line (\d+)", message)
    assert found, message
    assert len(re.findall(r"\bline \d+", message)) == 1, "one line, that of the file"
    return int(found[1])


def test_the_default_policy_has_a_machine_part_and_judged_rules() -> None:
    ours = default_policy()
    assert ours.limits.requests == 40
    assert set(ours.judged) == {"J1", "J2", "J3", "J4", "J5"}
    assert set(ours.outgoing) == {"email_address", "payment_card", "api_key", "private_key"}
    assert "localhost" in ours.denied_domains


def test_a_named_file_that_is_missing_is_an_error_and_not_the_default(tmp_path: Path) -> None:
    """Known defect: policy file silently not found."""
    with pytest.raises(ConfigurationError, match=r"'mine\.md' cannot be read \(No such file or directory\)") as error:
        load_policy(tmp_path / "mine.md")
    assert str(tmp_path) not in str(error.value)


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="it is not UTF-8 text"):
        load_policy(tmp_path / "mine.md")


def test_a_named_file_is_the_policy(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text(policy("[limits]\nrequests = 3", "\n- **J7** Be brief.\n"))
    mine = load_policy(tmp_path / "mine.md")
    assert (mine.limits.requests, dict(mine.judged)) == (3, {"J7": "Be brief."})
    assert mine.limits.tokens == 200_000, "what is not said keeps its default"
    assert mine.sha256 != default_policy().sha256


def test_what_a_policy_says_about_sending_and_addresses_is_taken() -> None:
    mine = parse_policy(policy("[sending]\nbefore_approval = false\n[addresses]\nafter_reading = 'ask'"), "POLICY.md")
    assert (mine.sends_before_approval, mine.after_reading) == (False, "ask")
    silent = parse_policy(policy("[tools]"), "POLICY.md")
    assert (silent.sends_before_approval, silent.after_reading) == (True, "shown")


def test_no_file_named_is_the_default() -> None:
    assert load_policy(None).sha256 == default_policy().sha256


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("[tools\nallowed = []", 6),
        ("[tools]\nallowed = [", 7),
        ('[tools]\n\nallowed = ["web_search"', 8),
        ("[limits]\nrequests = forty", 7),
        ("[limits]\nrequests = 1\nrequests = 2", 8),
        ("[limits]\nrequests = 1\n[limits]\ntokens = 2", 8),
        ("[outgoing]\nname = 'abc", 7),
    ],
)
def test_a_syntax_error_is_refused_with_its_line(block: str, line: int) -> None:
    assert line_of(refused(policy(block))) == line


@pytest.mark.parametrize(
    ("block", "line", "named"),
    [
        ("[domain]\ndenied = ['a.example']", 6, "'domain'"),
        ("[tools]\nallowed = []\n[domains]\nallow = []", 9, "'domains.allow'"),
        ("[tools]\nallowed = ['execute']", 7, "'tools.allowed'"),
        ("[tools]\nallowed = []\n[domains]\nallowed = 'a.example'", 9, "'domains.allowed'"),
        ("domains.denied = [1]", 6, "'domains.denied'"),
        ("[domains]\n'denied' = ['']", 7, "'domains.denied'"),
        ("[limits]\nrequests = -1", 7, "'limits.requests'"),
        ("[limits]\nrequests = true", 7, "'limits.requests'"),
        ("[limits]\nrequests = 1.5", 7, "'limits.requests'"),
        ("[limits]\ntokens = inf", 7, "'limits.tokens'"),
        ("[limits]\nseconds = nan", 7, "'limits.seconds'"),
        ("[limits]\nmoney = 1", 7, "'limits.money'"),
        ("limits = 3", 6, "'limits'"),
        ("[outgoing]\na = 'x'\nb = '(?=x)'", 8, "'outgoing.b'"),
        ("[outgoing]\na = 3", 7, "'outgoing.a'"),
        ("[outgoing]\na = ''", 7, "'outgoing.a'"),
        ("[sending]\nbefore_approval = 'no'", 7, "'sending.before_approval'"),
        ("[sending]\nlater = true", 7, "'sending.later'"),
        ("[addresses]\nafter_reading = 'some'", 7, "'addresses.after_reading'"),
        ("[addresses]\nafter_reading = true", 7, "'addresses.after_reading'"),
    ],
)
def test_what_is_not_known_or_has_no_sense_is_refused_with_its_line(block: str, line: int, named: str) -> None:
    message = refused(policy(block))
    assert line_of(message) == line, message
    assert named in message


@pytest.mark.parametrize(
    "host", ["*.a.example", "https://a.example", "a.example/x", "a.example:8080", "a b", "me@a.example", "*"]
)
def test_a_domain_that_could_match_nothing_is_refused(host: str) -> None:
    """It would forbid nothing, and look as if it did."""
    assert "not a host name" in refused(policy(f"[domains]\ndenied = ['{host}']"))


def test_a_policy_without_a_machine_part_is_refused() -> None:
    assert "no machine part" in refused("# Be good\n")
    assert line_of(refused(f"{PROSE}```toml policy\n[limits]\nrequests = 1\n")) == 5


def test_a_second_machine_part_is_refused_and_not_passed_over() -> None:
    text = policy("[limits]\nrequests = 1", "\n```toml policy\n[limits]\nrequests = 9\n```\n")
    assert line_of(refused(text)) == 10


def test_two_rules_of_one_name_are_refused() -> None:
    assert line_of(refused(policy("", "- **J1** One.\n- **J2** Two.\n- **J1** Three.\n"))) == 10


def test_line_ends_of_windows_are_read() -> None:
    text = policy("[limits]\nrequests = 3", "- **J1** One.\n").replace("\n", "\r\n")
    assert parse_policy(text, "POLICY.md").judged == {"J1": "One."}


@given(st.text(alphabet="[]=\"'.,abl#\n 0-{}", max_size=60))
def test_any_machine_part_is_understood_or_refused_with_a_line_inside_it(block: str) -> None:
    """Nothing else comes out: no crash, and no policy that silently allows everything."""
    text = policy(block)
    message = ""
    try:
        parse_policy(text, "POLICY.md")
    except ConfigurationError as error:
        message = str(error)
    assert not message or 5 <= line_of(message) <= text.count("\n") + 1
