"""Which names call their value a secret, in every spelling, and which only sound like it."""

from __future__ import annotations

import pytest

from stepwell.secrets.names import is_secret_header, is_secret_name, is_secret_parameter
from stepwell.secrets.text import hide_secrets
from stepwell.secrets.values import secret_values, without_secrets

SECRET = """
GITHUB_PAT githubPat GitHubPAT gitlab_pat AZURE_DEVOPS_PAT openaiKey OPENAI_KEY openAIKey openai-key openaikey OPENAIKEY
OpenaiKey2 passcode userPasscode api_token_v2 apiTokenV2 API-TOKEN-2 dsn sentry_dsn DATABASE_DSN refresh_token id_token
accessToken access-token api_key APIKey apikey api.key x-api-key anthropic_api_key ANTHROPIC_API_KEY_PROD account_key
stripe_secret_key aws_secret_access_key private_key privateKeyPem ssh_key signing_key master_key license_key password
PASSWORD db_password dbPassword dbpassword userpassword password_confirmation DB_PASS smtp_pass passwd pwd passphrase
seed_phrase wallet_seed mnemonic secret client_secret clientsecret webhookSecret secrets token bot_token githubtoken
session_token csrfToken access_tokens api_tokens authorization Authorization auth proxy-authorization bearer jwt cookie
set-cookie credentials creds google_application_credentials connection_string conn_str otp auth_header recovery_codes
authorization_code nsec ＡＰＩ＿ＫＥＹ
"""

INNOCENT = """
max_tokens token_count total_tokens tokens_used input_tokens tokenizer max_token pad_token eos_token stop_token
next_page_token cost_per_token keyboard monkey turkey key keys sort_key primary_key foreign_key public_key partition_key
project_key issue_key customer_key tenant_key projectKey JIRA_ISSUE_KEY order_line_key user_key device_key region_key
cache_key idempotency_key translation_key sort_keys keyword author authors authored_by authority passenger passengers
passive compass bypass first_pass boarding_pass secretary secret_santa_list secretName token_type auth_type auth_method
password_policy password_length cookie_consent thread_id session_id user_id run_id assistant_id checkpoint_ns
checkpoint_id graph_id model temperature country_code zip_code code status_code error_code language string connection
seed random_seed phrase headers pat patience patient path pattern spat chat description designation webhook_url
database_url state signature langgraph_auth_user langgraph_node ls_max_tokens pin shipping
"""


@pytest.mark.parametrize("name", SECRET.split())
def test_a_name_of_a_secret_is_one_however_it_is_spelt(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", INNOCENT.split())
def test_a_name_that_only_sounds_like_one_is_none(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("name", ["key", "code", "sig", "X-Amz-Signature", "sessionid", "refresh_token", "id_token", "API_KEY"])
def test_in_an_address_more_names_are_secret(name: str) -> None:
    assert is_secret_parameter(name)


@pytest.mark.parametrize("name", ["q", "page", "limit", "lang", "max_tokens", "v", "author"])
def test_other_parameters_stay(name: str) -> None:
    assert not is_secret_parameter(name)


def test_headers_with_keys_and_cookies_are_known() -> None:
    secret = ["Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Subscription-Token"]
    assert all(map(is_secret_header, secret))
    assert not any(map(is_secret_header, ["Content-Type", "ETag", "Access-Control-Allow-Credentials", "Age", "Surrogate-Key"]))


def test_secrets_go_at_any_depth_and_forms_are_hidden_under_other_names() -> None:
    given = {
        "model": "a:b",
        "GITHUB_PAT": "x",
        "tools": [{"name": "search", "openaiKey": "y"}, "plain"],
        "webhook_url": "https://hooks.example/in?room=4&token=t0ps3cret",
        "database_url": "postgresql://ada:pa55word@db.example/app",
    }
    assert without_secrets(given) == {
        "model": "a:b",
        "tools": [{"name": "search"}, "plain"],
        "webhook_url": "https://hooks.example/in?room=4&token=[hidden]",
        "database_url": "postgresql://ada:[hidden]@db.example/app",
    }


@pytest.mark.parametrize("name", ["project_key", "issue_key", "customerKey", "tenant_key", "my_acme_key"])
def test_a_key_that_only_names_something_is_kept(name: str) -> None:
    ids = ["PROJ", "PROJ-128", "acme-north-2024", "550e8400-e29b-41d4-a716-446655440000", "cus_1042", "anna@example.org", 17]
    for value in ids:
        assert without_secrets({name: value, "in": [{name: value}]}) == {name: value, "in": [{name: value}]}
    assert secret_values({name: "acme-north-2024"}) == frozenset()


@pytest.mark.parametrize(
    "value",
    [
        "9f86d081884c7d659a2feaa0c55ad015",
        "b3VyIHNlY3JldCB2YWx1ZQx7",
        "sk-ant-api03-abcdefghijklmnop",
        "Zk3hQ9vL2xTt8RbN5mWc7YpD",
        ["9f86d081884c7d659a2feaa0c55ad015"],
    ],
)
def test_a_key_of_any_name_is_hidden_where_it_looks_like_one(value: object) -> None:
    shown = str(without_secrets({"my_acme_key": value, "in": {"tenant_key": value}}))
    assert str(value) not in shown
    assert str(value).strip("[]'") not in shown


def test_a_key_of_any_name_that_looks_like_one_is_taken_out_of_texts() -> None:
    value = "9f86d081884c7d659a2feaa0c55ad015"
    assert secret_values({"my_acme_key": value}) == {value}
    assert value not in hide_secrets(f"MY_ACME_KEY={value}")
    assert hide_secrets("issue_key='PROJ-128' is closed") == "issue_key='PROJ-128' is closed"


def test_what_is_secret_in_an_address_is_known_by_itself() -> None:
    given = {
        "webhook_url": "https://hooks.example/in?room=long-and-open&token=t0ps3cret",
        "url": "redis://:pa55%40word@cache:6379",
    }
    assert secret_values(given) == {"t0ps3cret", "pa55%40word", "pa55@word"}


def test_values_under_a_secret_name_are_known_with_their_last_word() -> None:
    given = {"authorization": "Bearer opaque-token", "context": {"api_token_v2": ["first-one", "ab"]}}
    assert secret_values(given) == {"Bearer opaque-token", "opaque-token", "first-one"}
