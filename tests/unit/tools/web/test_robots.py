"""robots.txt after RFC 9309."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.growth import assert_linear

from stepwell.demo.web import ScriptedWeb, answer
from stepwell.errors import FetchFailedError
from stepwell.tools.documents.robots_rules import parse
from stepwell.tools.web.addresses import read_url
from stepwell.tools.web.robots import RobotsBook

ROBOTS = "https://a.example/robots.txt"


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /x", "/x/1", False),
        ("User-agent: *\nDisallow: /x", "/y", True),
        ("User-agent: *\nDisallow:", "/x", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: stepwell\nAllow: /", "/x", True),
        ("User-agent: *\nAllow: /\n\nUser-agent: StepWell/2.0\nDisallow: /", "/x", False),
        ("User-agent: stepwellish\nDisallow: /", "/x", True),
        ("User-agent: other\nUser-agent: stepwell\nDisallow: /x", "/x", False),
        ("User-agent: stepwell\nDisallow: /a\n\nUser-agent: b\nDisallow: /\n\nUser-agent: stepwell\nDisallow: /c", "/c", False),
        ("User-agent: *\nDisallow: /x\nAllow: /x/open", "/x/open/1", True),
        ("User-agent: *\nDisallow: /same\nAllow: /same", "/same", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf?x=1", True),
        ("User-agent: *\nDisallow: /a*b*c", "/a1b2c3", False),
        ("User-agent: *\nDisallow: /%7Ejoe", "/~joe/1", False),
        ("User-agent: *\nDisallow: /search?q=", "/search?q=1", False),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("\ufeffUSER-AGENT : *  # all\ndisallow : /x # no", "/x", False),
        ("Disallow: /\nnonsense\n\x00", "/x", True),
    ],
)
def test_the_rules_are_those_of_rfc_9309(text: str, path: str, allowed: bool):
    assert parse(text).allow(path) is allowed


def test_no_pattern_is_slow():
    rules = parse("User-agent: *\nDisallow: /" + "*a" * 5_000 + "$")
    assert_linear(rules.allow, lambda size: "/" + "a" * size + "b", 500)


@pytest.mark.parametrize(
    "text",
    [
        lambda size: "user-agent: *\n" * 5 * size + "disallow: /a\n" * size,
        lambda size: "user-agent: *\nuser-agent: stepwell\n" * size + "disallow: /ab\n" * 2 * size,
        lambda size: "user-agent: *\ndisallow: /x\n" * size,
    ],
    ids=["agents", "two agents", "groups"],
)
def test_a_group_that_is_repeated_does_not_multiply_its_rules(text: Callable[[int], str]):
    assert len(parse(text(1_000)).lines) == 1
    assert_linear(parse, text, 1_000)


async def test_many_rules_say_what_few_would(clock):
    many = "".join(f"disallow: /nothing/{n}\n" for n in range(3_000))
    book = RobotsBook(ScriptedWeb({ROBOTS: answer(f"user-agent: *\n{many}disallow: /page\nallow: /page/open")}), clock)
    assert await verdict(book) == "disallowed"
    assert await verdict(book, "https://a.example/page/open") == "allowed"
    assert await verdict(book, "https://a.example/other") == "allowed"


async def verdict(book: RobotsBook, url: str = "https://a.example/page") -> str:
    return (await book.look_up(read_url(url))).verdict


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (answer("User-agent: *\nDisallow: /other"), "allowed"),
        (answer("User-agent: *\nDisallow: /page"), "disallowed"),
        (answer(status=404), "none"),
        (answer(status=403), "none"),
        (answer(status=500), "unreachable"),
        (FetchFailedError("no connection", "network"), "unreachable"),
        (answer(status=302, location="/robots.txt"), "unreachable"),
        (answer(status=302, location="http://10.0.0.1/robots.txt"), "unreachable"),
    ],
)
async def test_an_answer_means_what_the_rfc_says(clock, said, expected: str):
    assert await verdict(RobotsBook(ScriptedWeb({ROBOTS: said}), clock)) == expected


async def test_a_redirected_file_counts_for_the_first_host(clock):
    web = ScriptedWeb(
        {
            ROBOTS: answer(status=301, location="https://b.example/r"),
            "https://b.example/r": answer("User-agent: *\nDisallow: /"),
        }
    )
    assert await verdict(RobotsBook(web, clock)) == "disallowed"


async def test_a_file_is_asked_for_once_a_day(clock):
    web = ScriptedWeb({ROBOTS: answer("User-agent: *\nDisallow: /x")})
    book = RobotsBook(web, clock)
    for _ in range(3):
        await verdict(book)
    assert len(web.requests) == 1
    clock.pass_s(24 * 3600 + 1)
    await verdict(book)
    assert len(web.requests) == 2


async def test_a_host_that_could_not_be_asked_is_asked_again_after_minutes(clock):
    book = RobotsBook(ScriptedWeb({ROBOTS: [answer(status=503), answer(status=404)]}), clock)
    assert await verdict(book) == "unreachable"
    assert await verdict(book) == "unreachable"
    clock.pass_s(301)
    assert await verdict(book) == "none"
