"""Servers on loopback that behave as a test says: HTTP with any status and body, HTTPS with an unknown certificate, or no HTTP."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """A response: text, or anything else as JSON."""

    status: int = 200
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)
    never: bool = False
    """Nothing is sent as long as the server runs."""


class LoopbackServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, behave: Callable[[Asked], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behave = behave
        self.asked: list[Asked] = []
        self.closing = threading.Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of many a test."""


class _Handler(BaseHTTPRequestHandler):
    server: LoopbackServer

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, json.loads(body) if body else None)
        self.server.asked.append(asked)
        reply = self.server.behave(asked)
        if reply.never:
            self.server.closing.wait()
            return
        text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        kind = "text/plain" if isinstance(reply.body, str) else "application/json"
        self.send_response(reply.status)
        for name, value in ({"Content-Type": kind} | reply.headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_CONNECT = do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(behave: Callable[[Asked], Reply], certificate: Path | None = None) -> Iterator[LoopbackServer]:
    """A server until the block ends; with a certificate (and its key in the same file), over TLS."""
    server = LoopbackServer(behave)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def speaking(greeting: bytes) -> Iterator[int]:
    """The port of a server that is no HTTP server: it sends a greeting to everyone, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stopped = threading.Event()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    if stopped.is_set():
                        return
                    connection.recv(1)
                    connection.sendall(greeting)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            stopped.set()
            with socket.create_connection(listener.getsockname()):
                pass
            thread.join()


def free_port() -> int:
    """A port where nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def self_signed_certificate(folder: Path) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that no authority has signed."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "self-signed.pem"
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
