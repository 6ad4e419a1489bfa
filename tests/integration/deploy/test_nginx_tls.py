"""The sample for TLS in a real nginx before a real server: only addresses, the certificate and the ports are changed."""

from __future__ import annotations

import json
import re
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.integration.deploy.test_nginx import nginx
from tests.integration.served.process import Server, serve
from tests.support.waiting import wait_until

SAMPLE = Path(__file__).parents[3] / "deploy" / "nginx-tls.conf"
AROUND = """
daemon off; worker_processes 1; error_log {folder}/error.log; pid {folder}/nginx.pid;
events {{ worker_connections 64; }}
http {{
    access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    include {folder}/site.conf;
}}
"""


def write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "stepwell.example")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    (folder / "privkey.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serve(tmp_path, STEPWELL_TRUSTED_PROXIES="127.0.0.1") as running:
        yield running


@pytest.fixture
def ports(server: Server, tmp_path: Path) -> Iterator[tuple[int, int]]:
    folder = tmp_path / "nginx"
    folder.mkdir()
    folder.chmod(0o755)
    write_certificate(folder)
    plain, secure = free_port(), free_port()
    text = SAMPLE.read_text(encoding="utf-8")
    text = text.replace("/etc/letsencrypt/live/stepwell.example/", f"{folder}/")
    text = re.sub(r"^\s*listen \[::\].*\n", "", text, flags=re.MULTILINE)
    text = text.replace("listen 80;", f"listen 127.0.0.1:{plain};").replace("listen 443 ", f"listen 127.0.0.1:{secure} ")
    text = text.replace("127.0.0.1:8123", urlsplit(server.url).netloc)
    (folder / "site.conf").write_text(text, encoding="utf-8")
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder), encoding="utf-8")
    checked = subprocess.run([nginx(), "-t", "-c", folder / "nginx.conf"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    with subprocess.Popen([nginx(), "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: reachable(secure), "nginx listens")
            yield plain, secure
        finally:
            process.terminate()


def reachable(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_sample_ends_tls_and_streams(ports: tuple[int, int], tmp_path: Path):
    plain, secure = ports
    trust = ssl.create_default_context(cafile=str(tmp_path / "nginx" / "fullchain.pem"))
    with urllib.request.urlopen(f"https://localhost:{secure}/ok", context=trust, timeout=60) as answer:
        assert answer.status == 200
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
    body = json.dumps({"assistant_id": "echo", "input": {"messages": [{"role": "user", "content": "hi"}]}}).encode()
    request = urllib.request.Request(
        f"https://localhost:{secure}/runs/stream", data=body, headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, context=trust, timeout=60) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert b"event: " in answer.read()

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    with pytest.raises(urllib.error.HTTPError) as moved:
        urllib.request.build_opener(Stay).open(f"http://127.0.0.1:{plain}/ok?x=1", timeout=60)
    moved.value.close()
    assert (moved.value.code, moved.value.headers["location"]) == (308, "https://127.0.0.1/ok?x=1")
