"""One table, one function, and no route without a policy."""

from __future__ import annotations

from typing import Annotated

import pytest
from fastapi import APIRouter, Depends, FastAPI

from stepwell.errors import AccessError, ConfigurationError
from stepwell.server.handlers.decisions import PERSONAL, RESOURCES
from stepwell.server.login.principal import LOCAL, Principal
from stepwell.server.policy import OPERATOR_ONLY, PUBLIC_PATHS, USER_ACTIONS, authorize, policy, routes_without_policy

ANNA = Principal("anna", "anna")


@pytest.mark.parametrize("action", sorted(OPERATOR_ONLY))
def test_what_concerns_all_users_is_for_operators(action):
    with pytest.raises(AccessError, match=action):
        authorize(ANNA, action)
    authorize(LOCAL, action)


@pytest.mark.parametrize("action", sorted(USER_ACTIONS))
def test_what_is_theirs_users_may_do(action):
    authorize(ANNA, action)


def test_no_action_is_both():
    assert not OPERATOR_ONLY & USER_ACTIONS


def test_an_unknown_action_cannot_be_declared_and_is_not_granted():
    with pytest.raises(ConfigurationError, match="threads:reed"):
        policy("threads:reed")
    with pytest.raises(AccessError):
        authorize(LOCAL, "threads:reed")


def test_a_route_without_a_policy_is_found_however_it_was_added(asking):
    app = asking.app
    assert routes_without_policy(app) == []
    inner, outer = APIRouter(), APIRouter(prefix="/outer")

    @inner.get("/forgotten")
    async def forgotten() -> None: ...

    @inner.get("/remembered")
    async def remembered(principal: Annotated[Principal, Depends(policy("threads:read"))]) -> None: ...

    outer.include_router(inner)
    app.include_router(outer)
    app.include_router(inner, prefix="/guarded", dependencies=[Depends(policy("db:read"))])
    app.mount("/mounted", FastAPI())
    assert routes_without_policy(app) == ["ANY /mounted", "GET /outer/forgotten"]


async def test_public_paths_answer_without_a_key(asking):
    async with asking.client() as client:
        answers = {path: (await client.get(path)).status_code for path in ("/login", "/openapi.json")}
    assert answers == {"/login": 200, "/openapi.json": 200}
    assert set(answers) <= PUBLIC_PATHS


def test_handlers_decide_about_every_action_that_is_not_personal() -> None:
    asked = {action for action in USER_ACTIONS if action.partition(":")[0] not in PERSONAL}
    assert asked - set(RESOURCES) == set(), "give the action a handler in handlers/decisions.py"
