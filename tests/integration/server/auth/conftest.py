"""A small identity provider on loopback, with real keys, and a site that trusts it."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fastapi import Depends, FastAPI

from stepwell.database.keys_and_sessions import AccessRecords
from stepwell.database.sqlite.database import Database
from stepwell.server.app import install_sign_in
from stepwell.server.limits.layers import limit_layers
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.problems import install_problems
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings

CLIENT, AUDIENCE = "stepwell-page", "stepwell"


@dataclass
class MovableClock:
    moment: datetime = field(default_factory=lambda: datetime.now(UTC))

    def now(self) -> datetime:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@dataclass
class Provider:
    """Lists its keys, gives out codes and changes them for tokens. The fields make it misbehave."""

    clock: MovableClock
    spare: list[rsa.RSAPrivateKey]
    keys: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    listed_fetches: int = 0
    broken: bool = False
    asked: int = 0
    answers: threading.Event = field(default_factory=threading.Event)
    """Cleared, it takes requests and does not answer them."""
    id_token_changes: dict[str, Any] = field(default_factory=dict)
    issuer: str = ""

    def add_key(self, kid: str, kind: str = "RSA") -> Any:
        key = self.spare.pop() if kind == "RSA" else ec.generate_private_key(ec.SECP256R1())
        self.keys[kid] = key
        return key

    def listed(self) -> dict[str, Any]:
        entries = []
        for kid, key in self.keys.items():
            algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
            entries.append({**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig"})
        return {"keys": entries}

    def token(self, *, kid: str | None = "first", key: Any = None, algorithm: str = "RS256", **changes: Any) -> str:
        now = int(self.clock.now().timestamp())
        claims = {"iss": self.issuer, "aud": AUDIENCE, "sub": "anna", "exp": now + 300, "iat": now, **changes}
        claims = {name: value for name, value in claims.items() if value is not None}
        headers = {} if kid is None else {"kid": kid}
        return jwt.encode(claims, key or self.keys[kid or "first"], algorithm, headers=headers)

    def authorize(self, url: str) -> str:
        """What a person signing in does: gives the address the browser is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?code={code}&state={asked['state']}"

    def exchange(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)  # a code is good once
        if asked is None or form["redirect_uri"] != asked["redirect_uri"] or form["client_id"] != asked["client_id"]:
            return 400, {"error": "invalid_grant"}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if challenge != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        return 200, {"id_token": self.token(**{"aud": CLIENT, "nonce": asked["nonce"], **self.id_token_changes})}


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            provider.asked += 1
            provider.answers.wait(60)
            if provider.broken:
                self._answer(500, {})
            elif path == "/.well-known/openid-configuration":
                paths = {"jwks_uri": "jwks", "authorization_endpoint": "authorize", "token_endpoint": "token"}
                urls = {name: f"{provider.issuer}/{path}" for name, path in paths.items()}
                self._answer(200, {"issuer": provider.issuer, **urls})
            elif path == "/jwks":
                provider.listed_fetches += 1
                self._answer(200, provider.listed())
            else:
                self._answer(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            self._answer(*provider.exchange({name: values[0] for name, values in parse_qs(body).items()}))

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(scope="session")
def rsa_keys() -> list[rsa.RSAPrivateKey]:
    """Made once: each takes a fifth of a second."""
    return [rsa.generate_private_key(65537, 2048) for _ in range(3)]


@pytest.fixture
def provider(clock: MovableClock, rsa_keys: list[rsa.RSAPrivateKey]) -> Iterator[Provider]:
    made = Provider(clock, list(rsa_keys))
    made.add_key("first")
    made.answers.set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    made.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.answers.set()
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.fixture
def variables(provider: Provider) -> dict[str, str]:
    """How the site is set up; a test may change it before it asks for `site`."""
    return {
        "STEPWELL_JWT_ISSUER": provider.issuer,
        "STEPWELL_JWT_AUDIENCE": AUDIENCE,
        "STEPWELL_OIDC_CLIENT_ID": CLIENT,
        "STEPWELL_JWT_OPERATOR_CLAIM": "roles",
        "STEPWELL_JWT_OPERATOR_VALUE": "stepwell-operator",
        "STEPWELL_JWT_ROOTS_CLAIM": "workspaces",
        "STEPWELL_JWT_READ_ROOTS_CLAIM": "read_workspaces",
    }


@pytest.fixture
def site(variables: dict[str, str], clock: MovableClock, tmp_path: Path) -> Iterator[FastAPI]:
    settings = ServerSettings.load(Settings.load(variables).server)
    database = Database(tmp_path / "stepwell.db")
    app = FastAPI(middleware=limit_layers(settings), docs_url=None, redoc_url=None)
    install_sign_in(app, settings, AccessRecords(database, clock), clock)
    install_problems(app)

    @app.get("/whoami")
    async def whoami(principal: Annotated[Principal, Depends(policy("threads:read"))]) -> dict[str, Any]:
        return {"user": principal.owner, "operator": principal.is_operator, "via": principal.via}

    @app.get("/workspaces")
    async def workspaces(principal: Annotated[Principal, Depends(policy("threads:read"))]) -> dict[str, Any]:
        return {"roots": principal.grants.roots, "read_roots": principal.grants.read_roots}

    yield app
    database.close()


@pytest.fixture
async def browser(site: FastAPI):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(site), base_url="http://localhost:8123") as client:
        yield client
