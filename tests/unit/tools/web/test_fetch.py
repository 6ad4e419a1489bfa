"""Fetching a page: hops, robots, types, texts. Without a socket."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.growth import assert_linear
from tests.unit.tools.documents.making import sheet

from stepwell.demo.web import ScriptedWeb, answer
from stepwell.demo.web.rendering import html, pdf
from stepwell.errors import FetchFailedError, FetchRefusedError, WebError
from stepwell.tools.documents.kinds import KINDS
from stepwell.tools.documents.parts import place_of
from stepwell.tools.documents.visible import normalise
from stepwell.tools.web.fetch import PageFetcher

PAGE = "https://a.example/page"
SENTENCE = "The bridge is 482 metres long and was opened in spring, as everybody here remembers."


def fetcher(web: ScriptedWeb, clock, **more) -> PageFetcher:
    return PageFetcher(web, clock=clock, sleep=clock.sleep, **more)


async def refusal(web: ScriptedWeb, clock, url: str = PAGE) -> WebError:
    with pytest.raises(WebError) as refused:
        await fetcher(web, clock).fetch_page(url)
    return refused.value


async def test_a_page_comes_with_its_text_and_where_it_came_from(clock):
    body = html("A bridge", [SENTENCE])
    web = ScriptedWeb({PAGE: answer(body, content_type="text/html; charset=utf-8")})
    page = await fetcher(web, clock).fetch_page(PAGE)
    assert (page.status, page.media_type, page.title, page.content) == (200, "text/html", "A bridge", body)
    assert SENTENCE in page.text
    assert "not text" not in page.text
    assert (page.url, page.final_url, page.redirects, page.robots) == (PAGE, PAGE, (), "none")
    assert page.fetched_at == "2026-01-02T03:04:05+00:00"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (PAGE, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        (PAGE, "application/octet-stream"),
        (PAGE, "application/zip"),
    ],
)
async def test_a_spreadsheet_is_read_with_its_cells(clock, url: str, said: str):
    web = ScriptedWeb({url: answer(sheet([("Bridge", "Length"), ("North", 482)]), content_type=said)})
    page = await fetcher(web, clock).fetch_page(url)
    assert page.text == "# Sales\n\nBridge: North; Length: 482"
    assert place_of(page.parts, 10, 20) == "sheet Sales, A2:B2"
    asked = next(request for request in web.requests if request.url == url).headers["accept"]
    assert all(kind.media_types[0] in asked for kind in KINDS)


async def test_the_name_in_an_address_decides_if_the_type_says_little(clock):
    url = "https://a.example/data/bridges.csv?raw=1"
    web = ScriptedWeb({url: answer("Bridge,Length\nNorth,482\n", content_type="text/plain")})
    assert (await fetcher(web, clock).fetch_page(url)).text == "Bridge: North; Length: 482"


async def test_redirects_are_followed_and_told(clock):
    web = ScriptedWeb({
        PAGE: answer(status=301, location="/next"),
        "https://a.example/next": answer(status=302, location="https://b.example/end#part"),
        "https://b.example/end": answer(SENTENCE, content_type="text/plain"),
    })  # fmt: skip
    page = await fetcher(web, clock).fetch_page(PAGE)
    assert page.redirects == ("https://a.example/next", "https://b.example/end")
    assert page.final_url == "https://b.example/end"
    assert [r.url for r in web.requests if r.purpose == "robots"] == [
        "https://a.example/robots.txt",
        "https://b.example/robots.txt",
    ]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://a.example/page", "downgrade"),
        ("https://127.0.0.1/", "address"),
        ("https://[::1]/", "address"),
        ("https://localhost/", "address"),
        ("https://2130706433/", "address"),
        ("https://a.example:22/", "port"),
        ("file:///etc/passwd", "scheme"),
        ("https://user@a.example/", "credentials"),
    ],
)
async def test_a_redirect_to_where_we_do_not_go_is_refused_unasked(clock, location: str, reason: str):
    web = ScriptedWeb({PAGE: answer(status=302, location=location)})
    error = await refusal(web, clock)
    assert isinstance(error, FetchRefusedError)
    assert error.reason == reason
    assert web.urls == [PAGE]


@pytest.mark.parametrize(
    "location",
    [
        "http://[",
        "https://[::1",
        "//[x",
        "https://a.example:x/",
        "https://a.example:99999999/",
        "https://\u2100.example/",
        "/a\x00b",
        "?" * 9000,
    ],
)
async def test_a_redirect_that_is_no_address_is_a_refusal_of_that_page(clock, location: str):
    page = ScriptedWeb({PAGE: answer(status=302, location=location)})
    assert isinstance(await refusal(page, clock), FetchRefusedError)
    robots = ScriptedWeb({"https://a.example/robots.txt": answer(status=302, location=location), PAGE: answer(SENTENCE)})
    assert (await refusal(robots, clock)).reason == "robots_unreachable"
    assert robots.urls == []


async def test_more_than_five_redirects_fail(clock):
    web = ScriptedWeb({PAGE: answer(status=302, location=PAGE)})
    assert (await refusal(web, clock)).reason == "redirects"
    assert len(web.urls) == 6


async def test_a_policy_sees_every_hop(clock):
    seen: list[str] = []

    def check(url: str) -> None:
        seen.append(url)
        if "b.example" in url:
            raise FetchRefusedError("b.example is denied", "policy")

    web = ScriptedWeb({PAGE: answer(status=302, location="https://b.example/")})
    with pytest.raises(FetchRefusedError, match="denied"):
        await fetcher(web, clock, check_hop=check).fetch_page(PAGE)
    assert seen == [PAGE, "https://b.example/"]
    assert web.urls == [PAGE]


async def test_robots_that_disallow_are_obeyed_without_asking_for_the_page(clock):
    web = ScriptedWeb({"https://a.example/robots.txt": answer("User-agent: *\nDisallow: /"), PAGE: answer(SENTENCE)})
    assert (await refusal(web, clock)).reason == "robots"
    assert web.urls == []


async def test_robots_that_cannot_be_asked_mean_no(clock):
    web = ScriptedWeb({"https://a.example/robots.txt": answer(status=502), PAGE: answer(SENTENCE)})
    assert (await refusal(web, clock)).reason == "robots_unreachable"
    assert web.urls == []


async def test_a_crawl_delay_is_kept_within_bounds(clock):
    robots = answer("User-agent: *\nCrawl-delay: 3600")
    web = ScriptedWeb({"https://a.example/robots.txt": robots, PAGE: answer(SENTENCE, content_type="text/plain")})
    polite = fetcher(web, clock)
    await polite.fetch_page(PAGE)
    await polite.fetch_page(PAGE)
    assert clock.slept == [10.0]


@pytest.mark.parametrize(
    ("status", "words"), [(404, "no such page"), (410, "gone"), (500, "500"), (401, "login"), (204, "204")]
)
async def test_a_status_that_is_no_page_fails_with_it(clock, status: int, words: str):
    error = await refusal(ScriptedWeb({PAGE: answer(SENTENCE, status)}), clock)
    assert isinstance(error, FetchFailedError)
    assert error.status == status
    assert words in str(error)


@pytest.mark.parametrize(
    "body", [b"", b"   ", b"<html><body><script>go()</script></body></html>", b"<html></html>", b"<p>.</p>"]
)
async def test_a_page_without_text_is_a_failure_and_no_empty_page(clock, body: bytes):
    error = await refusal(ScriptedWeb({PAGE: answer(body, content_type="text/html")}), clock)
    assert isinstance(error, FetchFailedError)
    assert error.reason == "empty"


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize(
    ("body", "said"),
    [(PNG, "text/html"), (PNG, "text/plain"), (b"a\0b", "text/plain"), (html("x", [SENTENCE]), "image/png"),
     (SENTENCE.encode(), "video/mp4"), (SENTENCE.encode(), "application/pdf"), (b"PK\x03\x04..", "")],
)  # fmt: skip
async def test_what_is_not_for_reading_is_refused(clock, body: bytes, said: str):
    error = await refusal(ScriptedWeb({PAGE: answer(body, content_type=said)}), clock)
    assert isinstance(error, FetchRefusedError)
    assert error.reason == "type"


@pytest.mark.parametrize(
    ("body", "said", "media_type"),
    [
        (pdf([SENTENCE], "T"), "text/html", "application/pdf"),
        (html("T", [SENTENCE]), "application/pdf", "text/html"),
        (html("T", [SENTENCE]), "", "text/html"),
        (html("T", [SENTENCE]), "application/octet-stream", "text/html"),
        (SENTENCE.encode(), "", "text/plain"),
        (SENTENCE.encode(), "text/markdown; charset=utf-8", "text/markdown"),
        (f'{{"a": "{SENTENCE}"}}'.encode(), "application/ld+json", "application/ld+json"),
    ],
)
async def test_a_lying_type_is_read_as_what_it_is(clock, body: bytes, said: str, media_type: str):
    page = await fetcher(ScriptedWeb({PAGE: answer(body, content_type=said)}), clock).fetch_page(PAGE)
    assert page.media_type == media_type
    assert SENTENCE in " ".join(page.text.split())


@pytest.mark.parametrize(
    ("codec", "said", "meta"),
    [
        ("utf-8", "text/html", ""), ("utf-8", "text/html; charset=iso-8859-1", ""), ("latin-1", "text/html; charset=utf-8", ""),
        ("latin-1", "text/html", ""), ("utf-16", "text/html", ""), ("utf-8-sig", "text/html; charset=latin-1", ""),
        ("iso-8859-15", "text/html", '<meta charset="iso-8859-15">'), ("cp1252", "text/html; charset=zip", ""),
    ],
)  # fmt: skip
async def test_letters_come_out_whatever_charset_is_said(clock, codec: str, said: str, meta: str):
    text = f"Das Café in Zürich öffnet früh. {SENTENCE}"
    body = f"<html><head>{meta}</head><body><p>{text}</p></body></html>".encode(codec)
    page = await fetcher(ScriptedWeb({PAGE: answer(body, content_type=said)}), clock).fetch_page(PAGE)
    assert text in page.text


async def test_what_no_reader_sees_is_not_in_the_text(clock):
    hidden = '<p style="display: none">send it out</p><p hidden>send it out</p><div aria-hidden="true">send it out</div>'
    body = html("T", [SENTENCE, "zero\u200bwidth and \u202eturned"], hidden)
    page = await fetcher(ScriptedWeb({PAGE: answer(body, content_type="text/html")}), clock).fetch_page(PAGE)
    assert "send it out" not in page.text
    assert "zerowidth and turned" in page.text


async def test_a_pdf_of_many_pages_is_read_to_a_limit_and_says_so(clock):
    web = ScriptedWeb({PAGE: answer(pdf([SENTENCE], "Long", pages=301), content_type="application/pdf")})
    page = await fetcher(web, clock).fetch_page(PAGE)
    assert page.title == "Long"
    assert page.note == "Only the first 300 of 301 pages were read."


@pytest.mark.parametrize("cut", [10, 100, 300, 700])
async def test_a_damaged_pdf_fails_with_a_sentence(clock, cut: int):
    body = pdf([SENTENCE], "Cut")[:cut]
    error = await refusal(ScriptedWeb({PAGE: answer(body, content_type="application/pdf")}), clock)
    assert error.reason in ("unreadable", "empty")


@pytest.mark.parametrize(
    "text",
    [
        lambda size: " " * size + "x",
        lambda size: " \t" * (size // 2) + "x",
        lambda size: "a" + "\u0301\u0327" * (size // 2),
        lambda size: "a" + "\u0f73" * size,
        lambda size: " \n" * (size // 2),
        lambda size: "\u200b\u00a0" * (size // 2),
        lambda size: "".join(map(chr, range(0x10000, 0x40000, 0x30000 // size))),
    ],
    ids=["spaces", "tabs", "accents", "composed accents", "lines", "unseen spaces", "all letters"],
)
def test_settling_takes_time_with_the_length_of_a_text_whatever_is_in_it(text: Callable[[int], str]):
    assert_linear(normalise, text, 0x6000)


@given(st.text(st.sampled_from("ae\u0301\u0327\u0344\u0f73\u0958 \t\n"), max_size=400))
def test_letters_keep_the_accents_a_language_could_give_them(text: str):
    towers = [
        len(list(run)) for is_mark, run in groupby(normalise(text), lambda each: unicodedata.combining(each) > 0) if is_mark
    ]
    assert max(towers, default=0) <= 30
    if len(text) <= 20:
        plain = unicodedata.normalize("NFC", text)
        assert normalise(text).split() == plain.split()


@given(st.text())
def test_settled_text_stays_as_it_is(text: str):
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t" for letter in once)


@settings(max_examples=100)  # each example reads three pages
@given(
    st.binary(max_size=300), st.sampled_from(["text/html", "application/pdf", "text/plain", "", "text/html; charset=utf-16"])
)
async def test_any_bytes_give_a_page_or_a_reason(content: bytes, said: str):
    for body in (content, b"%PDF-1.4\n" + content, b"<html><body>" + content):
        web = ScriptedWeb({PAGE: answer(body, content_type=said)})
        try:
            page = await PageFetcher(web).fetch_page(PAGE)
        except WebError:
            continue
        assert page.text.strip()
