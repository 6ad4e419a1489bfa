"""`stepwell serve` as a process: what it says, when it refuses, how it stops."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tests.integration.served.process import GRAPHS, Server, environment, serve

from stepwell.cli.compose import graphs_to_serve, open_server
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.server.listening import bind, local_url_of, network_urls_of
from stepwell.server.settings import ServerSettings
from stepwell.settings import Secret, Settings
from stepwell.terminal.database_place import PostgresPlace


def refused(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Start a server that must not come up."""
    command = [sys.executable, "-m", "stepwell", "serve", "--port", "0", *arguments]
    variables = environment(**{"STEPWELL_DATA_DIR": str(folder / "data"), **variables})
    result = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr.splitlines(), "tracebacks belong into the log's own lines"
    assert not result.stderr.splitlines()[-1].startswith("{"), "the last line is a sentence, not the log"
    assert "Serving at" not in result.stdout
    return result


def fetch(url: str, accept: str = "*/*") -> tuple[str, str]:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=60) as answer:
        return answer.headers["content-type"], answer.read().decode()


def test_our_applications_are_served_on_the_model_there_is(tmp_path: Path):
    """R10: no key, and the server still comes up, says on which model it works and what that cannot do."""
    with serve(tmp_path, graphs=None) as server:
        screen = server.output
        assert "simple_agent" in screen
        assert "demo      on the page" in screen
        assert "local:smollm2-135m answers: enough to try things, too small for real work" in screen
        assert f"stepwell chat --url {server.url}" in screen
        assert "network" not in screen, "this machine only"
        assert server.stop() == 0
    assert (tmp_path / "data" / "stepwell.db").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_a_terminal_shows_no_requests_and_no_json_under_the_first_screen(tmp_path: Path):
    command = [sys.executable, "-m", "stepwell", "serve", "--port", "0", "--no-demo", "--graphs", str(GRAPHS)]
    ours, theirs = os.openpty()
    with (
        open(ours, encoding="utf-8") as screen,
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment(STEPWELL_DATA_DIR=str(tmp_path / "data")),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        ) as process,
    ):
        os.close(theirs)
        lines = iter(screen.readline, "Stopped.\n")
        shown = []
        for line in lines:
            shown.append(line)
            if line.startswith("  stop "):
                url = next(each.split()[-1] for each in shown if each.startswith("Serving at "))
                fetch(f"{url}/info")
                process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    below = shown[[line.startswith("  stop ") for line in shown].index(True) + 1 :]
    assert below == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_data_folder_that_others_could_read_is_closed_to_them(tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)
    with serve(tmp_path):
        assert oct(data.stat().st_mode & 0o777) == "0o700"
        assert {oct(each.stat().st_mode & 0o077) for each in data.iterdir()} == {"0o0"}


def test_the_command_that_is_printed_works_as_it_is_typed(server_process: Server):
    [line] = [line for line in server_process.output.splitlines() if line.startswith("  talk ")]
    typed = line.removeprefix("  talk ").strip() + " --assistant echo --once hello"
    result = subprocess.run(
        ["sh", "-c", typed], cwd=server_process.folder, env=environment(), capture_output=True, text=True, timeout=60
    )
    assert result.stdout == "a short answer\n", result.stderr


def test_the_addresses_for_other_machines_are_this_machines_own():
    """Bound and never listened on: nobody can connect."""
    with bind("0.0.0.0", 0) as bound:
        others = network_urls_of(bound, "0.0.0.0")
        port = bound.getsockname()[1]
        assert local_url_of(bound, "0.0.0.0") == f"http://127.0.0.1:{port}"
    for other in others:
        address, _, told = other.removeprefix("http://").rpartition(":")
        assert int(told) == port
        assert not ipaddress.ip_address(address).is_loopback
        with socket.socket() as own:
            own.bind((address, 0))  # refused for an address of another machine
    with bind("127.0.0.1", 0) as bound:
        assert network_urls_of(bound, "127.0.0.1") == []


def test_a_model_that_cannot_be_had_is_said_and_does_not_keep_the_server_down(tmp_path: Path):
    with serve(tmp_path, graphs=None, STEPWELL_MODEL="nowhere:big") as server:
        assert "model     none: Unknown model provider 'nowhere'" in server.output
        assert "Known providers: anthropic" in server.output


def test_the_address_itself_says_what_this_is(server_process: Server):
    kind, body = fetch(server_process.url + "/")
    assert kind == "application/json"
    assert json.loads(body)["docs"] == "/docs"
    kind, page = fetch(server_process.url + "/", accept="text/html")
    assert kind.startswith("text/html")
    assert "Stepwell's page needs JavaScript" in page, "the page is not built: make page"
    assert "Stepwell" in fetch(server_process.url + "/docs")[1]


def test_a_port_in_use_is_one_sentence(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = refused(tmp_path, "--port", str(port))
    assert f"Port {port} of '127.0.0.1' is in use" in result.stderr
    assert not (tmp_path / "data").exists(), "nothing is made before the port is had"


def test_a_host_that_is_not_this_machine_is_refused(tmp_path: Path):
    assert "is not an address of this machine" in refused(tmp_path, "--host", "192.0.2.1", "--insecure").stderr


def test_other_databases_are_refused_with_what_to_do(tmp_path: Path):
    result = refused(tmp_path, "--database-url", "mysql://me:hunter2@db/agents")
    assert "sqlite:///path/to/file.db" in result.stderr
    assert "hunter2" not in result.stderr


def test_a_postgres_that_cannot_be_reached_is_one_sentence(tmp_path: Path):
    place = "postgresql://me:hunter2@127.0.0.1:1/agents"
    result = refused(tmp_path, "--database-url", place, STEPWELL_DATABASE_WAIT_S="0")
    said = result.stderr.splitlines()[-1]
    assert said.startswith("The database '127.0.0.1:1/agents' cannot be reached: ")
    assert "Check STEPWELL_DATABASE_URL, DATABASE_URL or --database-url" in result.stderr
    assert "hunter2" not in result.stderr


def test_a_worker_needs_a_database_that_can_be_shared(tmp_path: Path):
    command = [sys.executable, "-m", "stepwell", "worker", "--database-url", f"sqlite:///{tmp_path}/one.db"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment(), cwd=tmp_path)
    assert result.returncode == 2
    assert "A worker needs a database that several processes can use" in result.stderr


def test_the_database_may_lie_elsewhere(tmp_path: Path):
    with serve(tmp_path, "--database-url", f"sqlite:///{tmp_path}/other.db") as server:
        server.stop()
    assert (tmp_path / "other.db").is_file()
    assert not (tmp_path / "data" / "stepwell.db").exists()


def test_a_graph_that_does_not_build_refuses_the_start_by_name_and_file(tmp_path: Path):
    (tmp_path / "broken.py").write_text("raise RuntimeError('no flour')\n")
    (tmp_path / "langgraph.json").write_text('{"graphs": {"cake": "./broken.py:graph"}}')
    result = refused(tmp_path, "--graphs", str(tmp_path / "langgraph.json"))
    *logged, said = result.stderr.splitlines()
    assert (
        said
        == "The graph 'cake' cannot be loaded: importing 'broken.py' failed with RuntimeError. The log has the whole error."
    )
    assert "RuntimeError: no flour" in json.loads(logged[-1])["exception"]


def test_a_database_that_cannot_be_opened_refuses_the_start_with_its_name(tmp_path: Path):
    (tmp_path / "data").touch()
    said = refused(tmp_path).stderr
    assert said.startswith("The database 'stepwell.db' cannot be opened: File exists. Fix that, or choose another folder")


def test_a_folder_for_uploads_that_cannot_be_made_refuses_the_start(tmp_path: Path):
    (tmp_path / "file").touch()
    said = refused(tmp_path, STEPWELL_UPLOAD_DIR=str(tmp_path / "file" / "uploads")).stderr
    assert said.startswith(
        "Cannot write to the folder 'uploads' of STEPWELL_UPLOAD_DIR: Not a directory. Give this user write access"
    )


def test_an_open_address_without_keys_is_refused(tmp_path: Path):
    assert "stepwell keys create" in refused(tmp_path, "--host", "0.0.0.0", "--graphs", str(GRAPHS)).stderr


async def until(true: Callable[[], Awaitable[object]]) -> None:
    """Ask again and again, for a while."""
    async with asyncio.timeout(60):
        while not await true():  # noqa: ASYNC110 - it is another process that is waited for
            await asyncio.sleep(0.02)


async def start_long_answer(client: LangGraphClient, words: str = "go") -> tuple[str, str]:
    """A run of about four seconds, or `slowly` of forty, that is under way."""
    thread_id = (await client.threads.create())["thread_id"]
    asked = {"messages": [("user", words)]}
    run = await client.runs.create(thread_id, "long_answer", input=asked, stream_mode=["messages-tuple"])
    await until(lambda: client.runs.list(thread_id, status="running"))
    return thread_id, run["run_id"]


@pytest.fixture
async def client(server_process: Server) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server_process.url, api_key=None) as opened:
        yield opened


async def test_sigterm_ends_streams_lets_runs_finish_and_exits_with_0(server_process: Server, client: LangGraphClient):
    """The client sees its stream end at once, comes back to the next server and misses nothing."""
    thread_id, run_id = await start_long_answer(client)
    words: list[str] = []
    enough = asyncio.Event()

    async def follow() -> None:
        async for part in client.runs.join_stream(thread_id, run_id, last_event_id="0"):
            if part.event == "messages":
                words.append(part.data[0]["content"])
            if len(words) == 20:
                enough.set()

    following = asyncio.create_task(follow())
    await asyncio.wait_for(enough.wait(), 60)
    assert await asyncio.to_thread(server_process.stop) == 0
    seen = len(words)
    assert seen < 200, "the stream was ended while the run still had something to say"
    await asyncio.to_thread(server_process.start)
    await asyncio.wait_for(following, 60)
    assert "".join(words).split() == [f"word{number}" for number in range(200)]
    assert (await client.runs.get(thread_id, run_id))["status"] == "success"


async def test_a_run_that_outlasts_the_drain_goes_on_at_the_next_start(tmp_path: Path):
    with serve(tmp_path, STEPWELL_DRAIN_SECONDS="0") as server:
        async with get_client(url=server.url, api_key=None) as client:
            thread_id, run_id = await start_long_answer(client)
            assert await asyncio.to_thread(server.stop) == 0
            assert "\n  1 run not finished in time; will resume at the next start\n" in server.output
            await asyncio.to_thread(server.start)
            values = await asyncio.wait_for(client.runs.join(thread_id, run_id), 60)
            assert values["messages"][-1]["content"].endswith("word199")
            parts = [part async for part in client.runs.join_stream(thread_id, run_id, last_event_id="0")]
            assert [part.data["attempt"] for part in parts if part.event == "metadata"] == [1, 2]


async def test_a_run_that_hangs_is_stopped_at_its_time_limit(tmp_path: Path):
    """Also one whose step cannot be stopped. A run that waits for a person has ended, so its time does not run."""
    with serve(tmp_path, "--run-timeout", "10") as server:
        assert "a run is stopped after 10 s of work" in server.output
        async with get_client(url=server.url, api_key=None) as client:
            threads = [(await client.threads.create())["thread_id"] for _ in range(3)]
            asked = {"messages": [("user", "go")]}
            await client.runs.wait(threads[2], "chooser", input=asked)
            graphs = zip(threads, ("hangs", "hangs_deaf"), strict=False)
            begun = [(thread_id, await client.runs.create(thread_id, graph, input=asked)) for thread_id, graph in graphs]
            for thread_id, run in begun:
                await asyncio.wait_for(client.runs.join(thread_id, run["run_id"]), 60)
                assert (await client.runs.get(thread_id, run["run_id"]))["status"] == "timeout"
                thread = await client.threads.get(thread_id)
                assert thread["status"] == "error"
                assert "took longer than 10 s" in str(thread["error"])
            question = next(iter((await client.threads.get(threads[2]))["interrupts"].values()))[0]
            answer = {"resume": {question["id"]: {"selected": ["sq"]}}}
            values = await client.runs.wait(threads[2], "chooser", command=answer)
            assert "sq" in values["messages"][-1]["content"]
        assert await asyncio.to_thread(server.stop) == 0


@pytest.mark.parametrize(("variables", "level"), [({}, 1), ({"STEPWELL_POWER_LOSS": "true"}, 2)], ids=["usual", "power loss"])
async def test_writes_reach_the_disk_first_if_the_operator_wants_it(tmp_path: Path, variables: dict[str, str], level: int):
    """1 and 2 are what SQLite calls NORMAL and FULL."""
    settings = Settings.load({})
    async with open_server(settings, ServerSettings.load(variables), graphs_to_serve(None), tmp_path / "a.db") as server:
        database = cast("EmbeddedPersistence", server.services.persistence).database
        assert (await database.write(lambda connection: connection.execute("PRAGMA synchronous").fetchone()[0])) == level


async def test_a_server_that_may_have_others_beside_it_warns_of_workspaces_in_a_folder(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
    for place, warns in ((tmp_path / "a.db", False), (PostgresPlace(Secret(postgres_url)), True)):
        async with open_server(settings, ServerSettings.load({}), graphs_to_serve(None), place):
            assert ("servers and workers on other machines do not see the same files" in caplog.text) is warns


async def test_ctrl_c_says_at_once_what_is_waited_for(server_process: Server, client: LangGraphClient):
    await start_long_answer(client)
    server_process.signal(signal.SIGINT)

    async def told() -> bool:
        return "Stopping: 1 run under way, with up to 30 s to finish." in server_process.output

    await until(told)
    assert "Stopped." not in server_process.output, "the run is still under way"
    assert "Press Ctrl-C again to stop now" in server_process.output
    assert await asyncio.to_thread(server_process.wait) == 0
    assert server_process.output.endswith("Stopped.\n")
    assert "not finished in time" not in server_process.output


def test_a_server_without_runs_stops_without_ado(server_process: Server):
    assert server_process.stop() == 0
    assert "Stopping" not in server_process.output


async def test_a_second_signal_does_not_wait(server_process: Server, client: LangGraphClient):
    await start_long_answer(client, "slowly")

    port = int(server_process.url.rpartition(":")[2])

    async def takes_no_connection() -> bool:
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", port)) != 0

    server_process.signal(signal.SIGTERM)
    await until(takes_no_connection)  # the first has been heard; the run has seconds of work left, and would be waited for
    server_process.signal(signal.SIGTERM)
    assert await asyncio.to_thread(server_process.wait) == 128 + signal.SIGTERM
    assert server_process.output.endswith("Stopped immediately. Active runs resume at the next start.\n")


async def test_whoever_waits_for_a_run_that_ends_in_time_gets_its_values(server_process: Server, client: LangGraphClient):
    thread_id = (await client.threads.create())["thread_id"]
    asked = {"messages": [("user", "go")]}
    waiting = asyncio.create_task(client.runs.wait(thread_id, "pauses", input=asked))
    await until(lambda: client.runs.list(thread_id, status="running"))
    assert await asyncio.to_thread(server_process.stop) == 0
    values = await asyncio.wait_for(waiting, 60)
    assert isinstance(values, dict)
    assert values["messages"][-1]["content"] == "after a pause"


def test_no_provider_is_imported_to_start():
    """The start must stay quick: a provider's package is imported by the first run that needs it."""
    code = "import stepwell.cli.compose, stepwell.server.listening, sys; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=60)
    imported = set(result.stdout.split())
    assert "stepwell.server.listening" in imported, result.stderr
    assert imported.isdisjoint({"langchain_anthropic", "langchain_openai", "xllamacpp", "langchain_ollama"})


def test_a_server_whose_port_is_taken_while_it_starts_says_so(tmp_path: Path) -> None:
    """Two that start together can both bind a port before either listens."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 0))
        port, database = other.getsockname()[1], tmp_path / "data" / "stepwell.db"
        command = [sys.executable, "-m", "stepwell", "serve", "--port", str(port)]
        own = {**os.environ, "STEPWELL_DATA_DIR": str(database.parent)}
        with subprocess.Popen(command, cwd=tmp_path, env=own, stderr=subprocess.PIPE, text=True) as starting:
            until = time.monotonic() + 120
            while not database.exists() and starting.poll() is None and time.monotonic() < until:
                time.sleep(0.005)  # its port is bound by now
            other.listen()
            try:
                _, said = starting.communicate(timeout=120)
            finally:
                starting.kill()
    assert starting.returncode not in (0, None)
    assert f"Port {port} of '127.0.0.1' is in use" in said
    assert "Traceback" not in said
