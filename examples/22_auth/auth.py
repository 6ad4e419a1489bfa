"""Who calls, and what they may do. Threads belong to a team, assistants and items of the store to one person."""

from typing import Any

from langgraph_sdk import Auth

auth = Auth()

# Your own sign-in would look up the token, or verify its signature.
USERS = {
    "anna-token": {"identity": "anna", "team": "red", "permissions": ["assistants:delete"]},
    "amir-token": {"identity": "amir", "team": "red", "permissions": []},
    "bert-token": {"identity": "bert", "team": "blue", "permissions": []},
}


@auth.authenticate
async def authenticate(authorization: str | None) -> dict[str, Any]:
    user = USERS.get((authorization or "").removeprefix("Bearer "))
    if user is None:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Unknown token")
    return user


@auth.on.threads
async def team_threads(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, Any]:
    return {"team": ctx.user["team"]}


@auth.on.assistants
async def own_assistants(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, Any]:
    return {"created_by": ctx.user.identity}


@auth.on.assistants.delete
async def delete_assistants(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Any:
    if "assistants:delete" not in ctx.permissions:
        raise Auth.exceptions.HTTPException(status_code=403, detail="Ask Anna to delete it")
    return {"created_by": ctx.user.identity}


@auth.on.store
async def own_items(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
    value["namespace"] = (ctx.user.identity, *(value["namespace"] or ()))
