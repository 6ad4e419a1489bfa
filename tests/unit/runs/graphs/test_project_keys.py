"""`auth`, `http` and `webhooks` of a langgraph.json: what is read, and what is refused by name because it decides who may do what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.runs.graphs.test_langgraph_json import read

from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.auth import AuthCache
from stepwell.runs.graphs.project.http import HeaderChoice, read_http
from stepwell.runs.graphs.project.webhooks import fill_headers
from stepwell.server.project import ServedProject, narrowed


def test_auth_names_an_object_and_may_be_cached(tmp_path: Path) -> None:
    cache = {"cache_keys": ["Authorization"], "ttl_seconds": 5, "max_size": 10}
    auth = read(tmp_path, auth={"path": "./auth.py:auth", "disable_studio_auth": True, "cache": cache}).auth
    assert auth is not None
    assert auth.target.shown == "auth.py:auth"
    assert auth.cache == AuthCache(("authorization",), 5.0, 10)
    assert read(tmp_path).auth is None


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"encryption": {"path": "./e.py:e"}}, "'encryption' in 'langgraph.json' cannot be honoured"),
        ({"auth": {"disable_studio_auth": True}}, "'auth' in 'langgraph.json' has no 'path'"),
        ({"auth": {"path": "./auth.py"}}, "'auth.path' in 'langgraph.json' must name a file and an object in it"),
        ({"auth": {"path": "./auth.ts:auth"}}, "'auth.path' in 'langgraph.json' is written in JavaScript or TypeScript"),
        ({"auth": {"path": "./a.py:a", "allow_langsmith_api_keys": True}}, "'auth.allow_langsmith_api_keys'"),
        ({"auth": {"path": "./a.py:a", "require_mfa": True}}, "'auth.require_mfa' in 'langgraph.json' is unknown"),
        ({"auth": {"path": "./a.py:a", "cache": {"ttl_seconds": 5}}}, "'auth.cache' in 'langgraph.json' has no 'cache_keys'"),
        ({"auth": "./a.py:a"}, "'auth' in 'langgraph.json' must be an object"),
        ({"http": {"disable_thread": True}}, "'http.disable_thread' in 'langgraph.json' is unknown"),
        ({"http": {"disable_threads": "yes"}}, "'http.disable_threads' in 'langgraph.json' must be true or false"),
        ({"http": {"middleware_order": "last"}}, "'http.middleware_order'"),
        ({"http": {"mount_prefix": "api/"}}, "'http.mount_prefix' in 'langgraph.json' must begin with /"),
        ({"http": {"cors": {"allow_origins": ["*"], "allow_credentials": True}}}, "allows every origin to send credentials"),
        (
            {"http": {"cors": {"allow_origin_regex": ".*", "allow_credentials": True}}},
            "allows every origin to send credentials",
        ),
        (
            {"http": {"cors": {"allow_origin_regex": "(("}}},
            "'http.cors.allow_origin_regex' in 'langgraph.json' is not a regular",
        ),
        ({"auth": {}}, "'auth' in 'langgraph.json' has no 'path'"),
        ({"auth": {"path": "./a.py:a", "cache": {"cache_keys": ["x"], "max_size": 0.5}}}, "'auth.cache.max_size'"),
        ({"http": {"cors": {"origins": ["*"]}}}, "'http.cors.origins' in 'langgraph.json' is unknown"),
        ({"http": {"configurable_headers": {"includes": "x-*"}}}, "'http.configurable_headers.includes'"),
        ({"webhooks": {"url": {"allowed_domains": ["a.*.example"]}}}, "A star may only stand at the beginning"),
        ({"webhooks": {"headers": {"x-token": "${{ env.SECRET }}"}}}, "may only use variables that begin with 'LG_WEBHOOK_'"),
        ({"webhooks": {"headers": {"Host": "evil.example"}}}, "cannot be sent: 'Host'"),
        ({"webhooks": {"hosts": []}}, "'webhooks.hosts' in 'langgraph.json' is unknown"),
        (
            {"http": {"mount_prefix": "/ok"}},
            "'http.mount_prefix' in 'langgraph.json' is '/ok', where health checks are answered",
        ),
        ({"http": {"mount_prefix": "/a b"}}, "'http.mount_prefix' in 'langgraph.json' may only contain"),
        ({"http": {"mount_prefix": "/a/../b"}}, "'http.mount_prefix' in 'langgraph.json' may only contain"),
        ({"http": {"mount_prefix": "/ä?x"}}, "'http.mount_prefix' in 'langgraph.json' may only contain"),
        ({"http": {"configurable_headers": 5}}, "'http.configurable_headers' in 'langgraph.json' must be an object"),
        ({"http": {"cors": 5}}, "'http.cors' in 'langgraph.json' must be an object"),
        ({"auth": {"path": "./a.py:a", "openapi": 5}}, "'auth.openapi' in 'langgraph.json' must be an object"),
        ({"webhooks": {"url": {"allowed_domains": ["https://x.y"]}}}, "names 'https://x.y', which is not the name of a host"),
        ({"webhooks": {"url": {"allowed_domains": ["x.y:8080"]}}}, "names 'x.y:8080', which is not the name of a host"),
        (
            {"webhooks": {"url": {"allowed_ports": [True]}}},
            "'webhooks.url.allowed_ports' in 'langgraph.json' must be a list of",
        ),
        ({"webhooks": {"url": {"allowed_ports": [0]}}}, "'webhooks.url.allowed_ports' in 'langgraph.json' must be a list of"),
        (
            {"webhooks": {"url": {"allowed_ports": [99999]}}},
            "'webhooks.url.allowed_ports' in 'langgraph.json' must be a list of",
        ),
        (
            {"webhooks": {"url": {"max_url_length": -5}}},
            "'webhooks.url.max_url_length' in 'langgraph.json' must be a number of",
        ),
        (
            {"webhooks": {"url": {"max_url_length": True}}},
            "'webhooks.url.max_url_length' in 'langgraph.json' must be a number of",
        ),
        ({"webhooks": {"url": {"max_url_length": 3}}}, "'webhooks.url.max_url_length' in 'langgraph.json' must be a number of"),
        ({"webhooks": {"env_prefix": 5}}, "'webhooks.env_prefix' in 'langgraph.json' must be a text"),
        ({"checkpointer": {"ttl": {"default_ttl": 1e308}}}, "'checkpointer.ttl.default_ttl' in 'langgraph.json' must be"),
        ({"checkpointer": {"ttl": {"defalt_ttl": 5}}}, "'checkpointer.ttl.defalt_ttl' in 'langgraph.json' is unknown"),
        (
            {"checkpointer": {"ttl": {"default_ttl": 5, "sweep_interval_minutes": 1e-9}}},
            "'checkpointer.ttl.sweep_interval_minutes'",
        ),
        (
            {"checkpointer": {"ttl": {"default_ttl": 5, "sweep_interval_minutes": 1e300}}},
            "'checkpointer.ttl.sweep_interval_minutes'",
        ),
        ({"store": {"ttl": {"default_ttl": 1e308}}}, "'store.ttl.default_ttl' in 'langgraph.json' must be"),
    ],
)
def test_what_decides_who_may_do_what_is_refused_if_it_cannot_be_honoured(
    tmp_path: Path, keys: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, **keys)
    assert sentence in str(refused.value)


def test_headers_are_chosen_by_patterns(tmp_path: Path) -> None:
    http = read(tmp_path, http={"configurable_headers": {"includes": ["X-*"], "excludes": ["x-secret*"]}}).http
    assert http.configurable_headers == HeaderChoice(("x-*",), ("x-secret*",))
    chosen = [
        name for name in ("x-tenant", "X-Tenant", "x-secret-code", "authorization") if http.configurable_headers.takes(name)
    ]
    assert chosen == ["x-tenant", "X-Tenant"]
    assert not HeaderChoice(excludes=("x-*",)).takes("authorization"), "nothing without includes"


def test_variables_in_webhook_headers_are_filled_or_named() -> None:
    headers = {"authorization": "Bearer ${{ env.LG_WEBHOOK_TOKEN }}"}
    assert fill_headers(headers, {"LG_WEBHOOK_TOKEN": "t"}) == {"authorization": "Bearer t"}
    with pytest.raises(ConfigurationError, match="needs the variable LG_WEBHOOK_TOKEN, which is not set"):
        fill_headers(headers, {})


def test_domains_of_webhooks_may_have_names_below(tmp_path: Path) -> None:
    webhooks = read(tmp_path, webhooks={"url": {"allowed_domains": ["hooks.example", "*.below.example"]}}).webhooks
    hosts = ("hooks.example", "HOOKS.example", "a.below.example", "below.example", "evilbelow.example", "x.hooks.example")
    assert [host for host in hosts if webhooks.allows_host(host)] == ["hooks.example", "HOOKS.example", "a.below.example"]


def test_patterns_of_origins_are_not_honoured_without_sign_in() -> None:
    http = read_http({"http": {"cors": {"allow_origins": ["https://a.example"], "allow_origin_regex": ".*"}}}, "langgraph.json")
    for asks_who, regex in ((False, None), (True, ".*")):
        kept = narrowed(ServedProject(http), asks_who=asks_who).http.cors
        assert kept is not None
        assert (kept.allow_origins, kept.allow_origin_regex) == (("https://a.example",), regex)
