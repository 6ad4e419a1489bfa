"""Which deferred tools a query finds."""

from __future__ import annotations

import pytest
from benchmarks.many_tools import many_tools
from langchain_core.tools import tool
from tests.support.growth import assert_linear

from stepwell.tools.catalog import MAX_LOADED, Catalog, CatalogMemory, defer, is_deferred


def names(found):
    return [each.name for each in found.tools]


@pytest.fixture(scope="module")
def catalog():
    return Catalog(many_tools(178))


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("create an issue on GitHub", "github_create_issue"),
        ("github_create_issue", "github_create_issue"),
        ("GITHUB_CREATE_ISSUE please", "github_create_issue"),
        ("searching a channel in slack", "slack_search_channel"),
        ("comments on calendar events", "calendar_comment_on_event"),
        ("invoice_id", "billing_list_invoice"),
    ],
)
def test_the_best_match_comes_first(catalog, query, first):
    assert names(catalog.find(query))[0] == first


def test_a_query_finds_at_most_five(catalog):
    assert len(names(catalog.find("list get create update delete issues of github and slack"))) == MAX_LOADED


def test_names_alone_find_exactly_these(catalog):
    assert names(catalog.find("wiki_get_page slack_get_channel")) == ["wiki_get_page", "slack_get_channel"]


def test_a_name_among_words_comes_first(catalog):
    found = names(catalog.find("delete wiki_get_page"))
    assert found[0] == "wiki_get_page"
    assert len(found) == MAX_LOADED


@pytest.mark.parametrize(
    "query", ["", "  ", "the of and", "zeppelin", "select:", "select:zeppelin", "🦄", "((((", "a" * 100_000]
)
def test_queries_that_mean_nothing_find_nothing(catalog, query):
    assert names(catalog.find(query)) == []


def test_weak_matches_are_left_out():
    @tool
    def send_mail(to: str) -> str:
        """Send mail to a person in a company."""
        return to

    @tool
    def weather(city: str) -> str:
        """The weather of a city, with temperature, wind and rain, for a person who travels."""
        return city

    assert names(Catalog([send_mail, weather]).find("send mail to a person")) == ["send_mail"]


def test_camel_case_names_have_words():
    @tool("listOpenPullRequests")
    def pulls(repository: str) -> str:
        """Of a repository."""
        return repository

    assert names(Catalog([pulls]).find("pull request")) == ["listOpenPullRequests"]


def test_loaded_tools_have_no_mark_and_are_the_same_object_each_time(catalog):
    (one,), (same,) = catalog.loaded(["wiki_get_page", "gone"]), catalog.loaded(["wiki_get_page"])
    assert one is same
    assert not is_deferred(one)
    assert one.extras is None
    assert is_deferred(catalog.tools["wiki_get_page"])


def test_deferring_keeps_other_extras():
    marked = defer(many_tools(1, deferred=False)[0].model_copy(update={"extras": {"cache_control": {}}}))
    assert marked.extras == {"cache_control": {}, "defer_loading": True}


def test_a_catalog_is_made_again_only_for_other_tools():
    memory, tools = CatalogMemory(), many_tools(5)
    first = memory.of(tools)
    assert memory.of(list(tools)) is first
    assert memory.of(tools[:4]) is not first


def test_few_tools_are_summed_up_by_name_and_many_by_server():
    few, many = many_tools(3), [each.model_copy() for each in many_tools(178)]
    assert Catalog(few).summary() == "github_list_issue, slack_list_channel, jira_list_ticket"
    assert Catalog(many).summary() == ""


def test_a_search_takes_time_in_proportion_to_the_tools():
    """At 1,000 tools it takes a few milliseconds. The index is made once, at the first search."""

    def catalog_of(count):
        catalog = Catalog(many_tools(count))
        catalog.find("issue")
        return catalog

    assert_linear(lambda catalog: catalog.find("create an issue in github for the project"), catalog_of, 1000)
