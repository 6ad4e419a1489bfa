"""Routes of the project's own, beside those of the server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.greeting = "Welcome"  # open a connection pool here, and close it after the yield
    yield


app = FastAPI(lifespan=lifespan)


@app.get("/welcome")
async def welcome(request: Request) -> dict[str, str]:
    return {"text": f"{request.app.state.greeting}, {request.user.identity}"}
