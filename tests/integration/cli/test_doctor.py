"""`stepwell doctor` beside real processes: ports, servers, Postgres, Redis, object storage, providers. And no secret in what it prints."""

from __future__ import annotations

import json
import os
import socket
from importlib.metadata import version as installed
from pathlib import Path

import psycopg
import pytest
from tests.integration.served.process import serve
from tests.integration.served.warm import run_warm
from tests.support.loopback import Asked, Reply, free_port, serving
from tests.support.postgres import PostgresCluster
from tests.support.redis import RedisServer
from tests.unit.cli.operator.test_doctor import installation, look, only

from stepwell.database.postgres.condition import inspect_server
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.process_lock import ProcessLock
from stepwell.testing.objects import FakeObjectStore

KEY = "sk-ant-planted-0123456789abcdef"


def test_a_port_of_another_program_is_found_with_its_owner(tmp_path: Path):
    with serving(lambda asked: Reply(404, "no")) as other:
        finding = only("port", installation(tmp_path, {"STEPWELL_PORT": str(other.port)}))
    assert finding.level == "problem"
    assert f"The port {other.port} is in use by" in finding.what
    assert "serve --port 0" in finding.mend
    assert look("port", installation(tmp_path, {"STEPWELL_PORT": str(free_port())})) == []


def test_an_address_that_is_not_of_this_machine_is_found(tmp_path: Path):
    assert only("port", installation(tmp_path, {"STEPWELL_HOST": "192.0.2.1"})).level == "problem"


def test_a_real_server_is_known_and_holds_its_database(tmp_path: Path):
    with serve(tmp_path) as server:
        port = server.url.rpartition(":")[2].strip("/")
        there = (
            {"STEPWELL_PORT": port, "STEPWELL_DATA_DIR": server.data_dir}
            if hasattr(server, "data_dir")
            else {"STEPWELL_PORT": port}
        )
        here = installation(tmp_path, there)
        assert (look("port", here), look("server", here), look("database-lock", here)) == ([], [], [])


@pytest.mark.parametrize(
    ("version", "ready", "said"),
    [
        ("0.0.1", Reply(200, {"ok": True}), "runs version 0.0.1"),
        (None, Reply(503, {"detail": "The disk is full."}), "not ready"),
    ],
    ids=["old", "unhealthy"],
)
def test_a_server_that_is_old_or_unhealthy_is_found(tmp_path: Path, version: str | None, ready: Reply, said: str):
    info = {"version": version or installed("stepwell"), "metadata": {"server": "stepwell"}}
    with serving(lambda asked: Reply(200, info) if asked.path == "/info" else ready) as server:
        finding = only("server", installation(tmp_path, {"STEPWELL_PORT": str(server.port)}))
    assert said in finding.what


def test_a_process_that_holds_the_database_without_answering_is_found_with_the_whole_path(tmp_path: Path):
    Database(tmp_path / "stepwell.db").close()
    lock = ProcessLock(tmp_path / "stepwell.db.lock")
    lock.acquire()
    finding = only("database-lock", installation(tmp_path, {"STEPWELL_PORT": str(free_port())}))
    lock.release()
    assert str(tmp_path / "stepwell.db") in finding.what
    assert look("database-lock", installation(tmp_path)) == []


def test_a_dead_proxy_on_this_machine_is_found(tmp_path: Path):
    environ = {"HTTPS_PROXY": f"http://user:{KEY}@127.0.0.1:{free_port()}", "NO_PROXY": "*"}
    finding = only("proxies", installation(tmp_path, environ))
    assert (finding.level, KEY in str(finding)) == ("problem", False)


def test_a_model_server_on_this_machine_is_asked_without_online(tmp_path: Path):
    def tags(asked: Asked) -> Reply:
        return Reply(200, {"models": [{"name": "qwen3:8b"}]}) if asked.path == "/api/tags" else Reply(404)

    with serving(tags) as ollama:
        environ = {"OLLAMA_MODEL_NAME": "qwen3:8b", "OLLAMA_HOST": ollama.address}
        assert look("model-server", installation(tmp_path, environ)) == []
        assert "ollama pull gone" in only("model-server", installation(tmp_path, {**environ, "OLLAMA_MODEL_NAME": "gone"})).why
    assert only("model-server", installation(tmp_path, environ)).level == "problem"


def test_providers_are_asked_only_online_and_a_refused_key_is_found(tmp_path: Path):
    def refuse(asked: Asked) -> Reply:
        good = asked.headers.get("x-api-key") == KEY
        return (
            Reply(200, {"data": [{"id": "claude-sonnet-4-6"}]})
            if good
            else Reply(401, {"error": {"message": "invalid x-api-key"}})
        )

    with serving(refuse) as provider:
        environ = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_API_URL": provider.address}
        assert look("provider-online", installation(tmp_path, environ)) == []
        assert provider.asked == []
        assert look("provider-online", installation(tmp_path, environ, online=True)) == []
        assert [asked.path.partition("?")[0] for asked in provider.asked] == ["/v1/models"]
        wrong = only("provider-online", installation(tmp_path, {**environ, "ANTHROPIC_API_KEY": KEY + "x"}, online=True))
        assert (wrong.level, KEY in str(wrong)) == ("problem", False)
        unknown = only(
            "provider-online", installation(tmp_path, {**environ, "STEPWELL_MODEL": "anthropic:claude-x"}, online=True)
        )
        assert (unknown.level, "claude-sonnet-4-6" in unknown.why or "claude-x" in unknown.why) == ("warning", True)


def test_a_bucket_on_this_machine_is_asked(tmp_path: Path):
    with FakeObjectStore("files") as store:
        environ = {
            "S3_BUCKET_NAME": "files",
            "AWS_ENDPOINT_URL": store.url,
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": KEY,
        }
        assert look("object-storage", installation(tmp_path, environ)) == []
    finding = only("object-storage", installation(tmp_path, environ))
    assert (finding.level, "cannot be used" in finding.what, KEY in str(finding)) == ("problem", True, False)


def test_redis_that_is_away_or_wants_a_password_is_found(tmp_path: Path, postgres_url: str, redis_server: RedisServer):
    environ = {"STEPWELL_DATABASE_URL": postgres_url}
    assert look("redis", installation(tmp_path, {**environ, "STEPWELL_REDIS_URL": redis_server.url})) == []
    away = only("redis", installation(tmp_path, {**environ, "STEPWELL_REDIS_URL": f"redis://:{KEY}@127.0.0.1:{free_port()}"}))
    assert (away.level, "does not answer" in away.why, KEY in str(away)) == ("problem", True, False)
    redis_server.ask("CONFIG SET requirepass else")
    try:
        wrong = only("redis", installation(tmp_path, {**environ, "STEPWELL_REDIS_URL": f"{redis_server.url}?password={KEY}"}))
    finally:
        redis_server.kill()
        redis_server.start()
    assert "rejects the user or the password" in wrong.why


def test_postgres_that_cannot_be_reached_or_has_no_room_is_found(tmp_path: Path, postgres_url: str):
    assert look("postgres", installation(tmp_path, {"STEPWELL_DATABASE_URL": postgres_url})) == []
    gone = f"postgresql://user:{KEY}@127.0.0.1:{free_port()}/x"
    finding = only("database", installation(tmp_path, {"STEPWELL_DATABASE_URL": gone}))
    assert (finding.level, "cannot be reached" in finding.why, KEY in str(finding)) == ("problem", True, False)
    room = inspect_server(postgres_url)
    assert abs(room.ahead_s) < 30
    crowd = [psycopg.connect(postgres_url) for _ in range(room.free_connections - 4)]
    try:
        assert "connections left" in only("postgres", installation(tmp_path, {"STEPWELL_DATABASE_URL": postgres_url})).what
    finally:
        for connection in crowd:
            connection.close()


def test_a_wrong_password_of_postgres_is_found(tmp_path: Path, postgres_cluster: PostgresCluster):
    url = postgres_cluster.create("doctor")
    with psycopg.connect(url, autocommit=True) as connection:
        [[file]] = connection.execute("SHOW hba_file").fetchall()
        before = Path(file).read_text()
        connection.execute("CREATE USER patient PASSWORD 'right'")
        Path(file).write_text(f"local all patient scram-sha-256\n{before}")
        connection.execute("SELECT pg_reload_conf()")
        wrong = url.replace("user=postgres", f"user=patient&password={KEY}")
        finding = only("database", installation(tmp_path, {"STEPWELL_DATABASE_URL": wrong}))
        Path(file).write_text(before)
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("DROP USER patient")
    assert ("the user or the password is wrong" in finding.why, KEY in str(finding)) == (True, False)


def test_graphs_are_imported_only_on_request_and_the_output_stays_json(tmp_path: Path):
    (tmp_path / "langgraph.json").write_text(json.dumps({"graphs": {"a": "./agent.py:graph"}, "env": {"SOME_API_KEY": KEY}}))
    (tmp_path / "agent.py").write_text(f"print('noise')\nraise RuntimeError('{KEY}')\n")
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environ = {**kept, "STEPWELL_DATA_DIR": str(tmp_path), "STEPWELL_PORT": str(free_port()), "ANTHROPIC_API_KEY": KEY}
    looked = run_warm(["doctor", "--json"], tmp_path, environ)
    assert (looked.returncode, json.loads(looked.stdout)["model"]["name"]) == (1, "anthropic:claude-sonnet-4-6")
    tried = run_warm(["doctor", "--json", "--graphs"], tmp_path, environ)
    [finding] = [each for each in json.loads(tried.stdout)["findings"] if each["check"] == "graphs"]
    assert (finding["level"], "RuntimeError" in finding["why"], tried.returncode) == ("problem", True, 1)
    assert "noise" in tried.stderr
    assert KEY not in tried.stdout + tried.stderr


def test_no_secret_is_printed(tmp_path: Path):
    """Every variable that may hold a secret holds one, and everything that can be wrong with it is."""
    secrets = {
        "ANTHROPIC_API_KEY": f'"{KEY}"',
        "OPENAI_API_KEY": "gsk_planted0123456789abcdef",
        "GROQ_API_KEY": "planted groq 0123456789",
        "STEPWELL_API_KEY": "sw_planted_0123456789abcdef",
        "STEPWELL_WALLET_SEED": "planted-seed-0123456789",
        "STEPWELL_SECRETS_KEY": "planted-secrets-0123456789",
        "STEPWELL_WEBHOOK_SECRET": "planted-webhook-0123456789",
        "AWS_SECRET_ACCESS_KEY": "planted-aws-0123456789",
        "TAVILY_API_KEY": "planted-tavily-0123456789",
    }
    passwords = {
        "STEPWELL_DATABASE_URL": f"postgresql://user:plantedpassword1@127.0.0.1:{free_port()}/x",
        "STEPWELL_REDIS_URL": f"redis://:plantedpassword2@127.0.0.1:{free_port()}",
        "HTTPS_PROXY": f"http://user:plantedpassword3@127.0.0.1:{free_port()}",
        "AWS_ENDPOINT_URL": f"http://user:plantedpassword4@127.0.0.1:{free_port()}",
        "STEPWELL_PUBLIC_URL": "https://user:plantedpassword5@example.com",
    }
    (tmp_path / ".env").write_text("MISTRAL_API_KEY='planted mistral 0123456789'\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        more = {"S3_BUCKET_NAME": "files", "STEPWELL_DATA_DIR": str(tmp_path), "STEPWELL_PORT": str(taken.getsockname()[1])}
        said = [run_warm(["doctor", *form], tmp_path, {**kept, **secrets, **passwords, **more}) for form in ([], ["--json"])]
    for result in said:
        assert result.returncode == 1, result.stderr
        assert "planted" not in (result.stdout + result.stderr).lower()
