"""`PublicWeb`'s own checks, at the socket: what it connects to, what it sends, what it bounds."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from pathlib import Path

import httpcore
import pytest

from stepwell.demo.web import OfflineWorld
from stepwell.demo.web.world import INSIDE
from stepwell.errors import FetchFailedError, FetchRefusedError
from stepwell.tools.web.addresses import AddressRules
from stepwell.tools.web.public_web import PublicWeb
from stepwell.tools.web.transport import WebRequest

PUBLIC = "93.184.216.34"


@pytest.mark.parametrize("host", sorted(set(INSIDE) - {"nowhere.example"}))
async def test_a_name_that_leads_inside_is_refused_before_a_connection(world: OfflineWorld, host: str):
    with pytest.raises(FetchRefusedError):
        await world.web.send(WebRequest(f"https://{host}/"))
    assert world.connected == []
    assert world.requests == []


async def test_a_name_is_resolved_once_for_a_request_and_the_answer_is_what_is_connected_to(world: OfflineWorld):
    """DNS rebinding: the second answer of the name is the machine itself."""
    await world.web.send(WebRequest("https://rebinding.example/ok"))
    assert world.resolved == ["rebinding.example"]
    assert world.connected == [(PUBLIC, 443)]
    with pytest.raises(FetchRefusedError):
        await world.web.send(WebRequest("https://rebinding.example/ok"))
    assert world.connected == [(PUBLIC, 443)]


async def test_the_host_header_stays_the_name(world: OfflineWorld):
    await world.web.send(
        WebRequest("https://traps.example/ok", headers={"Host": "evil.example", "Cookie": "a=b", "X-Own": "1"})
    )
    (request,) = world.requests
    assert request.host == "traps.example"
    assert "cookie" not in request.headers
    assert request.headers["x-own"] == "1"
    assert "Stepwell/" in request.headers["user-agent"]


async def test_no_cookie_is_kept_and_no_redirect_followed(world: OfflineWorld):
    response = await world.web.send(WebRequest("https://traps.example/cookie"))
    assert response.header("Set-Cookie")
    await world.web.send(WebRequest("https://traps.example/cookie"))
    assert "cookie" not in world.requests[1].headers
    assert (await world.web.send(WebRequest("https://traps.example/redirect/good"))).status == 302
    assert world.count() == 3


async def test_proxies_of_the_environment_are_not_used(world: OfflineWorld, monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert (await world.web.send(WebRequest("https://traps.example/ok"))).status == 200


@pytest.mark.parametrize("path", ["huge", "gzip-bomb"])
async def test_an_answer_is_bounded_packed_or_not(world: OfflineWorld, path: str):
    with pytest.raises(FetchFailedError) as failed:
        await world.web.send(WebRequest(f"https://traps.example/{path}", max_bytes=100_000))
    assert failed.value.reason == "size"
    cut = await world.web.send(WebRequest(f"https://traps.example/{path}", max_bytes=100_000, cut=True))
    assert (len(cut.content), cut.complete) == (100_000, False)


@pytest.mark.parametrize(("path", "timeout_s"), [("slow", 0.3), ("stalled", 3600.0)])
async def test_time_is_bounded_in_all_and_between_pieces(world: OfflineWorld, path: str, timeout_s: float):
    with pytest.raises(FetchFailedError) as failed:
        async with asyncio.timeout(120):
            await world.web.send(WebRequest(f"https://traps.example/{path}", timeout_s=timeout_s))
    assert failed.value.reason == "time"


async def test_an_origin_inside_needs_the_operators_word_and_the_requests(world: OfflineWorld):
    here = f"http://127.0.0.1:{world.port}"
    web = PublicWeb(inside=[here])
    assert (await web.send(WebRequest(f"{here}/x", inside=True))).status == 404
    for request in (WebRequest(f"{here}/x"), WebRequest("http://127.0.0.1/x", inside=True)):
        with pytest.raises(FetchRefusedError):
            await web.send(request)
    with pytest.raises(FetchRefusedError):
        await PublicWeb().send(WebRequest(f"{here}/x", inside=True))
    assert world.count() == 1


async def test_a_host_that_does_not_answer_is_a_failure_without_addresses_in_it():
    async def resolve(host: str, port: int) -> list[str]:
        return [PUBLIC, "93.184.216.35"]

    tried: list[str] = []

    class Refusing(httpcore.AsyncNetworkBackend):
        async def connect_tcp(self, host: str, port: int, **_: object) -> httpcore.AsyncNetworkStream:
            tried.append(host)
            raise httpcore.ConnectError("refused")

    with pytest.raises(FetchFailedError) as failed:
        await PublicWeb(AddressRules(resolve=resolve), network=Refusing()).send(WebRequest("http://a.example/"))
    assert tried == [PUBLIC, "93.184.216.35"]
    assert str(failed.value) == "'a.example' cannot be reached: ConnectError."


def _certificate(folder: Path, name: str) -> Path:
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    place = folder / "server.pem"
    place.write_bytes(private + made.public_bytes(pem))
    return place


async def test_a_pinned_connection_still_asks_for_the_names_certificate(tmp_path: Path):
    place = _certificate(tmp_path, "a.example")
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_tls.load_cert_chain(place)
    asked: list[str | None] = []
    server_tls.sni_callback = lambda _socket, name, _context: asked.append(name)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_tls)
    port = server.sockets[0].getsockname()[1]

    class ToServer(httpcore.AnyIOBackend):
        async def connect_tcp(self, host: str, _port: int, **options: object) -> httpcore.AsyncNetworkStream:
            assert host == PUBLIC
            return await super().connect_tcp("127.0.0.1", port, **options)

    async def resolve(host: str, _port: int) -> list[str]:
        return [PUBLIC]

    web = PublicWeb(AddressRules(resolve=resolve), tls=ssl.create_default_context(cafile=str(place)), network=ToServer())
    async with server:
        assert (await web.send(WebRequest("https://a.example/"))).content == b"ok"
        with pytest.raises(FetchFailedError, match="certificate is not accepted"):
            await web.send(WebRequest("https://b.example/"))
    assert asked == ["a.example", "b.example"]


@pytest.mark.parametrize("url", ["https://traps.example:6379/", "http://localhost/", "http://printer.local/"])
async def test_ports_and_names_are_checked_here_too(world: OfflineWorld, url: str):
    with pytest.raises(FetchRefusedError):
        await world.web.send(WebRequest(url))
    assert world.resolved == []
