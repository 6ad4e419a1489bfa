"""Crons under a project's own auth: its filters decide which crons a caller sees, and scheduled runs know their user."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph_sdk import Auth
from tests.integration.server.conftest import Server, serve
from tests.integration.server.handlers.test_handler_forms import ask

from stepwell.runs.crons.scheduler import CronScheduler
from stepwell.server.project import ServedProject
from stepwell.server.settings import ServerSettings

TEAMS = {"anna": "red", "rita": "red", "bert": "blue"}


class State(TypedDict, total=False):
    who: str


def say(state: State, config: RunnableConfig) -> State:
    return {"who": config["configurable"]["langgraph_auth_user"]["team"]}


GRAPH = StateGraph(State).add_node(say).add_edge(START, "say").add_edge("say", END).compile()


class Tomorrow:
    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(days=1)


def by_team() -> Auth:
    auth = Auth()

    @auth.authenticate
    async def authenticate(authorization: str) -> Any:
        return {"identity": authorization, "team": TEAMS[authorization], "api_token": "TOPSECRET", "pin": "TOP-SECRET"}

    @auth.on
    async def own_team(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Any:
        return {"team": ctx.user["team"]}

    return auth


def served(folder: Path) -> Any:
    return serve(folder, ServerSettings(own_auth=True), {"says": GRAPH}, project=ServedProject(auth=by_team()))


async def found_by(server: Server, name: str) -> list[str]:
    return [cron["cron_id"] for cron in (await ask(server, "/runs/crons/search", name=name)).json()]


async def test_a_team_shares_its_crons_and_no_other_sees_them(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        made = (await ask(server, "/runs/crons", {"assistant_id": "says", "schedule": "0 3 * * *"})).json()
        cron_id, path = made["cron_id"], f"/runs/crons/{made['cron_id']}"
        stored = await server.services.persistence.crons.get(None, cron_id)
        assert stored.access.user is not None
        assert stored.access.user["team"] == "red"
        assert "api_token" not in stored.access.user, "its name marks it as a secret"
        assert made["metadata"] == {"team": "red"}
        exported = (await ask(server, "/api/export", method="GET")).text
        assert '"team":"red"' in exported
        assert "TOPSECRET" not in exported
        assert (await found_by(server, "rita"), await found_by(server, "bert")) == ([cron_id], [])
        assert (await ask(server, "/runs/crons/count", name="bert")).json() == 0
        for method, more in (("GET", ""), ("GET", "/slots"), ("PATCH", ""), ("DELETE", "")):
            refused = await ask(server, path + more, {"enabled": False}, "bert", method)
            assert refused.status_code == 404, (method, more)
        moved = await ask(server, path, {"metadata": {"team": "blue"}}, "rita", "PATCH")
        assert moved.json()["metadata"] == {"team": "red"}, "nobody puts a cron among another team's"
        assert (await ask(server, path, None, "rita", "DELETE")).status_code == 204


async def test_nobody_decides_what_runs_in_the_name_of_a_team_mate(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        made = (await ask(server, "/runs/crons", {"assistant_id": "says", "schedule": "0 3 * * *"})).json()
        path = f"/runs/crons/{made['cron_id']}"
        for change in (
            {"input": {"who": "rita"}},
            {"schedule": "* * * * *"},
            {"webhook": "https://x.example"},
            {"enabled": True},
        ):
            refused = await ask(server, path, change, "rita", "PATCH")
            assert refused.status_code == 403, change
            assert "started for 'anna'" in refused.json()["detail"]
        assert (await ask(server, path, {"enabled": False}, "rita", "PATCH")).json()["enabled"] is False
        assert (await ask(server, path, {"enabled": True, "input": {}}, "anna", "PATCH")).json()["enabled"] is True


async def test_a_team_mate_puts_a_cron_on_a_thread_and_an_assistant_of_the_team(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        thread = (await ask(server, "/threads", {}, "anna")).json()
        assistant = (await ask(server, "/assistants", {"graph_id": "says"}, "anna")).json()
        body = {"assistant_id": assistant["assistant_id"], "schedule": "0 3 * * *", "input": {}}
        made = await ask(server, f"/threads/{thread['thread_id']}/runs/crons", body, "rita")
        assert made.status_code == 200, made.text
        assert made.json()["user_id"] == "rita"
        persistence = server.services.persistence
        scheduler = CronScheduler(persistence.crons, server.services.engine, persistence.access, Tomorrow())
        assert await scheduler.step() == 1
        (run,) = (await ask(server, f"/threads/{thread['thread_id']}/runs", name="anna", method="GET")).json()
        joined = await ask(server, f"/threads/{thread['thread_id']}/runs/{run['run_id']}/join", name="anna", method="GET")
        assert joined.json() == {"who": "red"}


async def test_a_scheduled_run_knows_its_user_and_belongs_to_the_team(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        body = {"assistant_id": "says", "schedule": "0 3 * * *", "input": {}, "on_run_completed": "keep"}
        cron = (await ask(server, "/runs/crons", body)).json()
        persistence = server.services.persistence
        scheduler = CronScheduler(persistence.crons, server.services.engine, persistence.access, Tomorrow())
        assert await scheduler.step() == 1
        slot = (await ask(server, f"/runs/crons/{cron['cron_id']}/slots", method="GET")).json()[0]
        thread = f"/threads/{slot['thread_id']}"
        assert (await ask(server, f"{thread}/runs/{slot['run_id']}/join", name="rita", method="GET")).json() == {"who": "red"}
        assert (await ask(server, thread, name="bert", method="GET")).status_code == 404
        exported = (await ask(server, "/api/export", method="GET")).text
        assert cron["cron_id"] in exported
        assert not [line for line in exported.splitlines() if '"kind":"cron"' in line and "TOP-SECRET" in line]


async def test_a_cron_cannot_be_put_on_a_thread_of_another_team(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        thread = (await ask(server, "/threads", name="anna")).json()
        body = {"assistant_id": "says", "schedule": "0 3 * * *"}
        assert (await ask(server, f"/threads/{thread['thread_id']}/runs/crons", body, "bert")).status_code == 404
        assert (await ask(server, f"/threads/{thread['thread_id']}/runs/crons", body, "anna")).status_code == 200
