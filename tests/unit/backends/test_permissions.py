"""Rules about paths: what a pattern covers, which rule wins, and what a folder may show."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.support.growth import assert_linear, cpu_s

from stepwell import ConfigurationError
from stepwell.backends.permissions import FilesystemPermission, PathRules

BOTH = ["read", "write"]


def rules(*given):
    """Rules from pairs of mode and pattern, for both operations."""
    return PathRules([FilesystemPermission(BOTH, [pattern], mode) for mode, pattern in given])


def test_the_first_matching_rule_wins_and_the_default_is_allow():
    made = rules(("allow", "/work/open/**"), ("deny", "/work/**"), ("allow", "/work/late"))
    assert made.decide("read", "/work/open/a") == "allow"
    assert made.decide("read", "/work/late") == "deny"
    assert made.decide("read", "/elsewhere") == "allow"


def test_a_rule_counts_only_for_its_operations():
    made = PathRules([FilesystemPermission(["write"], ["/**"], "deny")])
    assert (made.decide("read", "/a"), made.decide("write", "/a")) == ("allow", "deny")


@pytest.mark.parametrize(
    ("pattern", "covered", "free"),
    [
        ("/secrets/**", ["/secrets/a", "/secrets/a/b"], ["/secret", "/secretsa", "/x/secrets/a"]),
        ("/secrets", ["/secrets", "/secrets/a"], ["/secrets.md"]),
        ("/work/*", ["/work/a", "/work/a/b"], ["/work", "/works"]),
        ("/**/.env", ["/.env", "/a/.env", "/a/b/.env"], ["/a/x.env"]),
        ("/a/{b,c}.txt", ["/a/b.txt", "/a/c.txt"], ["/a/d.txt"]),
        ("/a/[bc]?", ["/a/bx"], ["/a/b", "/a/dx"]),
        ("/back\\slash/**", ["/back/slash/a"], ["/back/a"]),
    ],
)
def test_a_denied_pattern_covers_what_it_matches_and_everything_in_it(pattern, covered, free):
    made = rules(("deny", pattern))
    assert {made.decide("read", path) for path in covered} == {"deny"}
    assert {made.decide("read", path) for path in free} == {"allow"}


def test_an_allowed_pattern_opens_only_what_it_matches():
    made = rules(("allow", "/work/*.md"), ("deny", "/**"))
    assert made.decide("read", "/work/a.md") == "allow"
    assert made.decide("read", "/work/a.md/hidden") == "deny"


def test_a_denied_folder_is_hidden_and_the_folders_above_it_are_not():
    made = rules(("deny", "/work/secrets/**"))
    assert not made.shows("/work/secrets/")
    assert made.shows("/work/")
    assert made.decide_folder("read", "/") == "allow"
    assert made.decide_folder("read", "/work/secrets") == "deny"


def test_folders_on_the_way_to_something_open_can_be_listed():
    made = rules(("allow", "/work/logs/**"), ("deny", "/**"))
    assert made.decide_folder("read", "/") == "allow"
    assert made.shows("/work/")
    assert made.shows("/work/logs/")
    assert not made.shows("/home/")
    assert not made.shows("/work/other/")
    assert made.decide("write", "/work/a") == "deny"


def test_a_later_allow_does_not_make_a_denied_folder_passable():
    made = rules(("deny", "/work/**"), ("allow", "/work/logs/**"))
    assert made.decide_folder("read", "/work") == "deny"
    assert not made.shows("/work/logs/")


def test_two_unicode_forms_of_a_name_are_one_name():
    assert rules(("deny", "/caf\u00e9/**")).decide("read", "/cafe\u0301/a") == "deny"


def test_a_listing_asks_only_if_it_would_show_what_the_rule_is_about():
    made = rules(("interrupt", "/secrets/**"), ("interrupt", "/work/*.pem"))
    assert made.may_ask_in("read", "/secrets")
    assert made.may_ask_in("read", "/work")
    assert not made.may_ask_in("read", "/")
    assert made.may_ask_below("read", "/")
    assert not made.may_ask_below("read", "/elsewhere")


PIECES = [
    "a",
    "b",
    "a.k",
    ".k",
    "/",
    "/",
    "*",
    "**",
    "**/",
    "?",
    "{a,b}",
    "{a/b,c}",
    "{,b/}",
    "[ab]",
    "[!b]",
    "[.-0]",
    "[a/]",
    "[",
    "]",
    "{",
    "}",
]
NAMES = st.sampled_from(["a", "b", "c", "a.k", "b.k", "ab", "[a", "]", "{"])


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # most patterns match few paths
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join), st.lists(NAMES, min_size=1, max_size=5))
@example("a/**.k", ["a", "b", "c", "a.k"])
@example("**.k", ["a", "b", "a.k"])
@example("a/**b/c", ["a", "c", "b", "c"])
@example("a[.-0]b", ["a", "b"])
@example("a[b/]c", ["a", "c"])
@example("a/**/*.k", ["a", "b.k"])
def test_whatever_a_rule_says_about_a_file_is_known_for_every_folder_above_it(pattern, segments):
    try:
        deny = FilesystemPermission(["write"], ["/" + pattern], "deny")
    except ConfigurationError:
        assume(False)
    made = PathRules([deny, FilesystemPermission(["read"], ["/" + pattern], "interrupt")])
    path = "/" + "/".join(segments)
    assume(made.decide("write", path) == "deny")
    above = ["/" + "/".join(segments[:depth]) for depth in range(len(segments) + 1)]
    assert [folder for folder in above if not made.protecting("write", folder)] == []
    assert [folder for folder in above if not made.may_ask_below("read", folder)] == []
    assert made.may_ask_in("read", above[-2])


def test_a_rule_says_nothing_about_the_folders_beside_it():
    for pattern in ("/a/b/*.key", "/a/[b]/x", "/a/b?/x", "/a/b/**", "/a/b/**.key"):
        assert rules(("deny", pattern)).protecting("write", "/a/c") == []
        assert not rules(("interrupt", pattern)).may_ask_below("read", "/a/c")


@pytest.mark.parametrize(
    "bad",
    [
        {"operations": [], "paths": ["/a"]},
        {"operations": "read", "paths": ["/a"]},
        {"operations": ["delete"], "paths": ["/a"]},
        {"operations": ["read"], "paths": []},
        {"operations": ["read"], "paths": "/a"},
        {"operations": ["read"], "paths": 5},
        {"operations": 5, "paths": ["/a"]},
        {"operations": [["read"]], "paths": ["/a"]},
        {"operations": ["read"], "paths": ["a/**"]},
        {"operations": ["read"], "paths": ["/a/../b"]},
        {"operations": ["read"], "paths": ["/a\\..\\b"]},
        {"operations": ["read"], "paths": ["/~/b"]},
        {"operations": ["read"], "paths": ["/"]},
        {"operations": ["read"], "paths": ["/a/[z-a]"]},
        {"operations": ["read"], "paths": ["/a"], "mode": "ask"},
    ],
)
def test_a_rule_that_cannot_mean_anything_is_refused(bad):
    with pytest.raises(ConfigurationError):
        FilesystemPermission(**bad)


def test_the_time_grows_with_the_rows_and_hardly_with_the_rules():
    names = [f"/folder{number % 37}/deep/file{number}.md" for number in range(4_000)]

    def made(count):
        return PathRules([FilesystemPermission(BOTH, [f"/d{place}/**/*.pem"], "deny") for place in range(count)])

    twenty = made(20)
    assert_linear(lambda some: [twenty.shows(name) for name in some], lambda size: names[:size], 500)
    few, many = (min(cpu_s(lambda it: [it.shows(name) for name in names], made(count)) for _ in range(5)) for count in (2, 40))
    assert many < 6 * few
