"""The pages a person meets: what they say, and that they hold nothing of the visitor's unescaped."""

from __future__ import annotations

from stepwell.server.page.docs import render_docs
from stepwell.server.page.front import render_front


def test_the_front_page_shows_how_to_begin_at_this_address():
    page = render_front("http://127.0.0.1:8123", asks_who=False)
    assert "<pre>stepwell chat --url http://127.0.0.1:8123</pre>" in page
    assert "/login" not in page


def test_the_front_page_of_a_server_that_asks_says_where_keys_go():
    page = render_front("https://agents.example", asks_who=True)
    assert "STEPWELL_API_KEY" in page
    assert "<a href=/login>" in page


def test_an_address_cannot_bring_markup_in():
    assert "<script>" not in render_front("http://x/<script>", asks_who=True)


def test_the_docs_page_has_a_line_for_each_operation():
    operation = {"summary": "Read <one>", "tags": ["Things"]}
    page = render_docs({"info": {"title": "S", "version": "1"}, "paths": {"/things/{id}": {"get": operation}}})
    assert "<h2>Things</h2>" in page
    assert "GET</span> <code>/things/{id}</code> <small>Read &lt;one&gt;</small>" in page
