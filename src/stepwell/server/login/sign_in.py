"""Signing in with a key or at an identity provider. Plain HTML forms that work without scripts.

The web page has its own form, which sends the same fields and asks for JSON; the response is then neither a page nor a redirect.

A session is a random cookie, stored as a hash. The cookie is `SameSite=Strict`, so a browser does not send it with a request that comes
*from* another site. That is why the identity provider's redirect ends at a small page of ours that goes on by itself, and not at a second
redirect.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from stepwell.clock import Clock
from stepwell.database.keys_and_sessions import SIGN_IN_LASTS, AccessRecords, SignInSession
from stepwell.errors import AccessError, LimitReachedError, NotSignedInError
from stepwell.server.addresses import address_of
from stepwell.server.login.api_keys import RandomBytes, hash_of, random_token
from stepwell.server.login.authentication import SESSION_COOKIE, Authenticator, client_address_of
from stepwell.server.login.principal import Principal
from stepwell.server.page.sign_in_forms import sign_in_page, signed_in_page
from stepwell.server.settings import ServerSettings

if TYPE_CHECKING:
    from stepwell.server.login.oidc import OidcClient

SIGN_IN_COOKIE = "stepwell_sign_in"


class LoginRoutes:
    """The handlers for signing in and out."""

    def __init__(
        self,
        settings: ServerSettings,
        authenticator: Authenticator,
        records: AccessRecords,
        oidc: OidcClient | None,
        clock: Clock,
        random_bytes: RandomBytes,
    ) -> None:
        self._settings = settings
        self._authenticator = authenticator
        self._records = records
        self._oidc = oidc
        self._clock = clock
        self._random_bytes = random_bytes

    async def show(self, request: Request) -> Response:
        go_to = own_path(request.query_params.get("next", "/"))
        if not self._settings.asks_who:
            return RedirectResponse(go_to, 303)
        return self._page(go_to)

    async def sign_in(self, request: Request) -> Response:
        form = _fields(await request.body())
        go_to = own_path(form.get("next", "/"))
        answer = Response(status_code=204) if _by_script(request) else RedirectResponse(go_to, 303)
        if not self._settings.asks_who:
            return answer
        try:
            principal = await self._authenticator.check(form.get("key", "").strip(), client_address_of(request))
        except (LimitReachedError, NotSignedInError) as error:
            if _by_script(request):
                raise
            return self._page(go_to, str(error), 429 if isinstance(error, LimitReachedError) else 401)
        await self._open_session(request, answer, principal)
        return answer

    async def sign_out(self, request: Request) -> Response:
        cookie = request.cookies.get(SESSION_COOKIE)
        if cookie:
            await self._records.close_session(hash_of(cookie))
        answer = Response(status_code=204) if _by_script(request) else RedirectResponse("/login", 303)
        answer.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict", secure=self._secure(request))
        return answer

    async def go_to_provider(self, request: Request) -> Response:
        if self._oidc is None:
            return self._page("/", "This server has no identity provider. Use a key.", 404)
        try:
            begun = await self._oidc.begin(self._callback(request), own_path(request.query_params.get("next", "/")))
        except AccessError as error:
            return self._page("/", str(error), 503)
        answer = RedirectResponse(begun.url, 303)
        # Lax, because the browser must send this cookie when the provider redirects it back.
        answer.set_cookie(
            SIGN_IN_COOKIE, begun.cookie, max_age=int(SIGN_IN_LASTS.total_seconds()), path="/login", httponly=True, samesite="lax",
            secure=self._secure(request),
        )  # fmt: skip
        return answer

    async def come_back(self, request: Request) -> Response:
        if self._oidc is None:
            return self._page("/", "This server has no identity provider. Use a key.", 404)
        query = request.query_params
        cookie = request.cookies.get(SIGN_IN_COOKIE, "")
        try:
            principal, go_to = await self._oidc.finish(
                cookie, query.get("state", ""), query.get("code", ""), self._callback(request)
            )
        except AccessError as error:
            answer: Response = self._page("/", str(error), 401 if isinstance(error, NotSignedInError) else 503)
        else:
            answer = HTMLResponse(signed_in_page(go_to))
            await self._open_session(request, answer, principal)
        answer.delete_cookie(SIGN_IN_COOKIE, path="/login", httponly=True, samesite="lax", secure=self._secure(request))
        return answer

    async def _open_session(self, request: Request, answer: Response, principal: Principal) -> None:
        lasts = timedelta(hours=self._settings.session_hours)
        cookie = random_token(self._random_bytes)
        key_id = principal.credential_id if principal.via == "api_key" else None
        expires_at = self._clock.now() + lasts
        await self._records.open_session(
            SignInSession(hash_of(cookie), principal.owner, principal.is_operator, expires_at, key_id, principal.grants)
        )
        answer.set_cookie(
            SESSION_COOKIE,
            cookie,
            max_age=int(lasts.total_seconds()),
            httponly=True,
            samesite="strict",
            secure=self._secure(request),
        )

    def _page(self, go_to: str, fault: str = "", status: int = 200) -> HTMLResponse:
        return HTMLResponse(sign_in_page(go_to, fault, with_provider=self._oidc is not None), status)

    def _secure(self, request: Request) -> bool:
        return request.url.scheme == "https" or (self._settings.public_url or "").startswith("https://")

    def _callback(self, request: Request) -> str:
        return f"{address_of(request, self._settings.public_url)}/login/callback"


def login_router(routes: LoginRoutes) -> APIRouter:
    """All of these are public (`addresses.PUBLIC_PATHS`): their users have not signed in yet."""
    router = APIRouter(include_in_schema=False)
    router.add_api_route("/login", routes.show, methods=["GET"])
    router.add_api_route("/login", routes.sign_in, methods=["POST"])
    router.add_api_route("/login/oidc", routes.go_to_provider, methods=["GET"])
    router.add_api_route("/login/callback", routes.come_back, methods=["GET"])
    router.add_api_route("/logout", routes.sign_out, methods=["POST"])
    return router


def _by_script(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def _fields(body: bytes) -> dict[str, str]:
    """The fields of one of our forms. A form with far more fields than ours counts as empty, so it lacks a key."""
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=10))
    except ValueError:
        return {}


def own_path(wanted: str) -> str:
    """A path of this server, or `/`: sign-in must not redirect people to other sites."""
    parts = urlsplit(wanted) if wanted.isprintable() and "\\" not in wanted else urlsplit("/")
    fine = wanted.startswith("/") and not wanted.startswith("//") and not parts.scheme and not parts.netloc
    return wanted if fine and wanted.isprintable() and "\\" not in wanted else "/"
