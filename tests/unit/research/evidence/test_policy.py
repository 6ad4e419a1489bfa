"""What the machine part of a policy has against a plan, an address or a text. Mission R6."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.research.evidence.policy.file import default_policy, parse_policy
from stepwell.research.evidence.policy.rules import ResearchPolicy
from stepwell.research.graph.schemas import ResearchPlan, ResearchStep

LABEL = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)
HOST = st.lists(LABEL, min_size=1, max_size=3).map(lambda labels: ".".join([*labels, "example"]))


def policy(**domains: list[str]) -> ResearchPolicy:
    lines = "\n".join(f"{name} = {hosts!r}" for name, hosts in domains.items())
    return parse_policy(f"```toml policy\n[domains]\n{lines}\n```\n", "POLICY.md")


def rules(violations: list) -> list[str]:  # type: ignore[type-arg]  # the rule ids are what is asked for
    return [violation.rule for violation in violations]


@given(HOST, LABEL, st.booleans(), st.sampled_from(["", "."]), st.sampled_from(["https", "http"]), st.data())
def test_a_denied_host_is_denied_with_its_subdomains_however_it_is_written(
    host: str, sub: str, below: bool, dot: str, scheme: str, data: st.DataObject
) -> None:
    written = f"{sub}.{host}" if below else host
    written = "".join(data.draw(st.sampled_from([letter, letter.upper()])) for letter in written)
    url = f"{scheme}://{written}{dot}/path?q=1#f"
    assert rules(policy(denied=[host]).check_url(url)) == ["domains.denied"]
    assert policy(allowed=[host]).check_url(url) == []


@given(HOST, HOST)
def test_only_the_host_and_what_is_below_it_is_allowed(allowed: str, asked: str) -> None:
    inside = asked == allowed or asked.endswith(f".{allowed}")
    assert (policy(allowed=[allowed]).check_url(f"https://{asked}/") == []) is inside


def test_a_name_that_only_ends_alike_is_another_host() -> None:
    assert policy(denied=["example.org"]).check_url("https://badexample.org/") == []
    assert rules(policy(allowed=["example.org"]).check_url("https://example.org.evil.example/")) == ["domains.allowed"]


@pytest.mark.parametrize("url", ["https://bücher.example/", "https://BÜCHER.example/", "https://xn--bcher-kva.example/"])
@pytest.mark.parametrize("written", ["bücher.example", "xn--bcher-kva.example", "Bücher.Example."])
def test_a_name_with_an_accent_is_one_name_in_both_forms(url: str, written: str) -> None:
    assert rules(policy(denied=[written]).check_url(url)) == ["domains.denied"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "no address",
        "https://",
        "https://[::1",
        "ftp://a.example/",
        "javascript:alert(1)",
        "https://a.example:99999/",
        "//a",
    ],
)
def test_what_is_no_address_is_a_violation_and_no_crash(url: str) -> None:
    assert rules(policy().check_url(url)) == ["domains.allowed"]


@given(st.text(max_size=80))
def test_any_text_can_be_asked_about(text: str) -> None:
    ours = default_policy()
    ours.check_url(text)
    ours.check_outgoing(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("write to ann.bee@mail.example today", "outgoing.email_address"),
        ("4111 1111 1111 1111", "outgoing.payment_card"),
        ("4111-1111-1111-1111 bridge", "outgoing.payment_card"),
        ("sk-abcdefghijklmnop123", "outgoing.api_key"),
        ("ghp_abcdefghijklmnopqrst", "outgoing.api_key"),
        ("-----BEGIN RSA PRIVATE KEY-----", "outgoing.private_key"),
        ("line one\nann@mail.example", "outgoing.email_address"),
    ],
)
def test_what_must_not_leave_the_machine_is_found_and_not_repeated(text: str, rule: str) -> None:
    (violation,) = default_policy().check_outgoing(text)
    assert violation.rule == rule
    assert not any(word in violation.reason for word in text.split() if len(word) > 6)


@pytest.mark.parametrize(
    "text", ["How long is the Vardal bridge?", "apples 1999-2020", "the 12 March 1931 opening", "2,400 metres"]
)
def test_plain_questions_may_leave(text: str) -> None:
    assert default_policy().check_outgoing(text) == []


def test_each_violation_of_a_plan_names_its_rule() -> None:
    text = "```toml policy\n[tools]\nallowed = ['fetch_page']\n[domains]\ndenied = ['bad.example']\n[outgoing]\nsecret = 'tulip'\n```\n"
    plan = ResearchPlan(
        objective="x",
        steps=(
            ResearchStep(input="a tulip"),
            ResearchStep(tool="fetch_page", input="https://www.bad.example/tulip"),
            ResearchStep(tool="fetch_page", input="https://good.example/"),
        ),
    )
    found = parse_policy(text, "POLICY.md").check_plan(plan)
    assert rules(found) == ["tools.allowed", "outgoing.secret", "domains.denied", "outgoing.secret"]
