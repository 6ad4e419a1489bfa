"""What the server makes of the environment, and when it refuses to start."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.errors import ConfigurationError
from stepwell.server.settings import ServerSettings, require_sign_in
from stepwell.settings import SERVER_VARIABLES, Settings

ISSUER = {"STEPWELL_JWT_ISSUER": "https://id.example", "STEPWELL_JWT_AUDIENCE": "stepwell"}


def load(variables: dict[str, str] | None = None, **flags: object) -> ServerSettings:
    return ServerSettings.load(Settings.load(variables or {}).server, **flags)


def test_a_server_for_one_machine_asks_nobody_and_starts():
    settings = load()
    assert (settings.host, settings.port, settings.asks_who) == ("127.0.0.1", 8123, False)
    require_sign_in(settings, usable_keys=0)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_an_address_others_reach_needs_keys_or_tokens(host: str):
    with pytest.raises(ConfigurationError, match="stepwell keys create"):
        require_sign_in(load(host=host), usable_keys=0)
    require_sign_in(load(host=host), usable_keys=1)
    require_sign_in(load(ISSUER, host=host), usable_keys=0)
    require_sign_in(load(host=host, insecure=True), usable_keys=0)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_addresses_are_not_reachable(host: str):
    assert not load(host=host).reachable


@pytest.mark.parametrize(
    "variables", [{"STEPWELL_ALLOWED_HOSTS": "app.example"}, {"STEPWELL_PUBLIC_URL": "https://app.example/"}]
)
def test_a_loopback_server_behind_a_proxy_counts_as_reachable(variables: dict[str, str]):
    settings = load(variables)
    assert settings.asks_who
    assert "app.example" in settings.allowed_hosts
    with pytest.raises(ConfigurationError):
        require_sign_in(settings, usable_keys=0)


def test_no_variable_switches_safety_off():
    variables = dict.fromkeys(("STEPWELL_INSECURE", "STEPWELL_SERVER_INSECURE"), "1")
    assert not load(variables).insecure


def test_the_command_line_wins():
    settings = load({"STEPWELL_HOST": "0.0.0.0", "STEPWELL_PORT": "1"}, host="127.0.0.1", port=2)
    assert (settings.host, settings.port) == ("127.0.0.1", 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STEPWELL_PORT", "eighty"),
        ("STEPWELL_PORT", "65536"),
        ("STEPWELL_BODY_LIMIT_BYTES", "-1"),
        ("STEPWELL_JSON_DEPTH_LIMIT", "100000"),
        ("STEPWELL_AUTH", "off"),
        ("STEPWELL_WEBHOOK_HTTP", "perhaps"),
        ("STEPWELL_CORS_ORIGINS", "*"),
        ("STEPWELL_CORS_ORIGINS", "app.example"),
        ("STEPWELL_CORS_ORIGINS", "https://app.example/path"),
        ("STEPWELL_PUBLIC_URL", "http://app.example"),
        ("STEPWELL_PUBLIC_URL", "https://user:word@app.example"),
        ("STEPWELL_JWT_ISSUER", "https://id.example"),
        ("STEPWELL_JWT_AUDIENCE", "stepwell"),
        ("STEPWELL_OIDC_CLIENT_ID", "page"),
    ],
)
def test_a_variable_that_cannot_be_meant_is_named(name: str, value: str):
    with pytest.raises(ConfigurationError, match=name):
        load({name: value})


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.2", "[::1]", "agents.localhost"])
def test_plain_http_is_for_this_machine_by_whichever_name(host: str):
    assert load({"STEPWELL_PUBLIC_URL": f"http://{host}:8123"}).public_url == f"http://{host}:8123"
    assert load({"STEPWELL_PUBLIC_URL": f"http://{host}:8123"}).reachable is False


@pytest.mark.parametrize("algorithm", ["none", "HS256", "RS256,HS512", "rs256"])
def test_algorithms_without_a_key_pair_cannot_be_set(algorithm: str):
    with pytest.raises(ConfigurationError, match="STEPWELL_JWT_ALGORITHMS"):
        load({**ISSUER, "STEPWELL_JWT_ALGORITHMS": algorithm})


def test_a_run_s_time_and_the_disk_are_set_by_either():
    assert (load().run_timeout_s, load().power_loss, load().refuse_bare_answers) == (None, False, False)
    chosen = load({"STEPWELL_RUN_TIMEOUT_S": "3600", "STEPWELL_POWER_LOSS": "1", "STEPWELL_BARE_ANSWERS": "refuse"})
    assert (chosen.run_timeout_s, chosen.power_loss, chosen.refuse_bare_answers) == (3600, True, True)
    assert load({"STEPWELL_RUN_TIMEOUT_S": "3600"}, run_timeout_s=60).run_timeout_s == 60
    assert load(power_loss=True).power_loss


def test_limits_apply_where_users_are_told_apart():
    assert load().max_streams_per_owner is None
    assert load(ISSUER).max_streams_per_owner == 100
    assert load({"STEPWELL_MAX_STREAMS": "7"}).max_streams_per_owner == 7
    shares = load(
        {
            "STEPWELL_TENANT_MAX_RUNS": "3",
            "STEPWELL_TENANT_MAX_BYTES": "4",
            "STEPWELL_TENANT_MAX_OPERATIONS_PER_MINUTE": "5",
            "STEPWELL_MAX_FILE_BYTES": "2048",
        }
    )
    assert (shares.tenant_max_runs, shares.tenant_max_bytes, shares.tenant_max_operations) == (3, 4, 5)
    assert shares.max_file_bytes == 2048


def test_only_a_server_for_one_machine_may_call_that_machine():
    assert load().webhook_rules.allowed_networks
    assert not load(ISSUER).webhook_rules.allowed_networks
    assert not load(host="0.0.0.0", insecure=True).webhook_rules.allowed_networks


def test_secrets_do_not_show():
    settings = Settings.load(
        {**ISSUER, "STEPWELL_OIDC_CLIENT_ID": "p", "STEPWELL_OIDC_CLIENT_SECRET": "hush", "STEPWELL_WEBHOOK_SECRET": "quiet"}
    )
    shown = repr(settings) + repr(ServerSettings.load(settings.server))
    assert "hush" not in shown
    assert "quiet" not in shown


def test_the_reference_lists_every_variable():
    page = (Path(__file__).parents[3] / "docs/reference/environment.md").read_text(encoding="utf-8")
    assert [name for name in SERVER_VARIABLES if f"`{name}`" not in page] == []


def test_a_server_on_all_addresses_answers_to_any_name_only_if_it_asks_who_is_there():
    assert load(host="0.0.0.0").allowed_hosts == ("*",)
    assert "*" not in load(host="0.0.0.0", insecure=True).allowed_hosts
    assert "*" not in load({"STEPWELL_ALLOWED_HOSTS": "app.example"}, host="0.0.0.0").allowed_hosts
    assert "[fd00::5]" in load(host="fd00::5").allowed_hosts


def test_a_client_secret_is_not_sent_to_an_issuer_from_a_dotenv_below_it(tmp_path: Path):
    dotenv = tmp_path / ".env"
    dotenv.write_text("STEPWELL_JWT_ISSUER=https://evil.example\n", encoding="utf-8")
    secret = {"STEPWELL_OIDC_CLIENT_SECRET": "hush"}
    assert "STEPWELL_JWT_ISSUER" not in Settings.load(secret, dotenv).server
    assert Settings.load({**secret, **ISSUER}, dotenv).server["STEPWELL_JWT_ISSUER"] == "https://id.example"
    assert Settings.load({}, dotenv).server["STEPWELL_JWT_ISSUER"] == "https://evil.example"
