"""W4: the same code on S3 (moto) and Azure (azurite): conditional writes, races, names and versions, by the shared suite."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from uuid import uuid4

import boto3
import httpx
import pytest
from moto.server import ThreadedMotoServer

from stepwell.backends.objects import Bucket, ObjectBackend, open_bucket
from stepwell.backends.protocol import BackendProtocol
from stepwell.settings import Settings
from stepwell.testing.backends.changing import ChangingCases, RacingCases

AZURITE = Path(__file__).parent / "azurite"
PACKAGES = Path(__file__).parents[3] / ".bench" / "azurite"
ACCOUNT = "devstoreaccount1"
# The account that every azurite has; the key is printed in its manual.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@pytest.fixture(scope="module")
def s3_environment() -> Iterator[dict[str, str]]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    access = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=address, **access).create_bucket(Bucket="files")
    yield {"S3_BUCKET_NAME": "files", "AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
           "AWS_REGION": "us-east-1"}  # fmt: skip
    server.stop()


@pytest.fixture(scope="session")
def azurite() -> Path:
    """Azurite's program, installed once from its lock."""
    done = PACKAGES / "installed.json"
    lock = (AZURITE / "package-lock.json").read_text()
    if not (done.exists() and done.read_text() == lock):
        PACKAGES.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(AZURITE / name, PACKAGES)
        # Node and npm come with our own environment.
        environment = {**os.environ, "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"}
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        installed = subprocess.run(
            command, cwd=PACKAGES, env=environment, capture_output=True, text=True, timeout=280, check=False
        )
        if installed.returncode:
            message = f"azurite could not be installed: {installed.stderr.strip()[-300:]}"
            pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
        done.write_text(lock)
    return PACKAGES / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"


@pytest.fixture(scope="module")
def azure_environment(azurite: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = [
        "--blobHost",
        "127.0.0.1",
        "--blobPort",
        str(port),
        "--inMemoryPersistence",
        "--skipApiVersionCheck",
        "--disableTelemetry",
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path_factory.mktemp("azurite")}
    process = subprocess.Popen([Path(sys.prefix) / "bin" / "node", azurite, *options], start_new_session=True, **quiet)
    try:
        address = f"http://127.0.0.1:{port}/{ACCOUNT}"
        create_container(process, address)
        yield {"AZURE_STORAGE_CONTAINER_NAME": "files", "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY,
               "AZURE_STORAGE_ENDPOINT": address}  # fmt: skip
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # what was started starts Node, and would leave it behind
        process.wait(60)


def create_container(process: subprocess.Popen[bytes], address: str) -> None:
    """Azure has no create call in obstore: one signed request, asked until azurite is up."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
    signed = "PUT" + "\n" * 12 + "".join(f"{name}:{value}\n" for name, value in headers.items())
    signed += f"/{ACCOUNT}/{ACCOUNT}/files\nrestype:container"
    digest = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    give_up = time.monotonic() + 60
    while True:
        assert process.poll() is None, "azurite has ended"
        try:
            answer = httpx.put(f"{address}/files?restype=container", headers=headers, trust_env=False)
            break
        except httpx.TransportError:
            assert time.monotonic() < give_up, "azurite does not answer"
            time.sleep(0.1)
    assert answer.status_code == 201, answer.text


@pytest.fixture(scope="module")
def s3(s3_environment: dict[str, str]) -> Bucket:
    return open_bucket(Settings.load(s3_environment))


@pytest.fixture(scope="module")
def azure(azure_environment: dict[str, str]) -> Bucket:
    return open_bucket(Settings.load(azure_environment))


class TestS3(ChangingCases, RacingCases):
    """W4: writing and racing on S3."""

    @pytest.fixture
    def backend(self, s3: Bucket) -> BackendProtocol:
        return ObjectBackend(s3, f"/company/{uuid4()}/")


class TestAzure(ChangingCases, RacingCases):
    """W4: writing and racing on Azure."""

    @pytest.fixture
    def backend(self, azure: Bucket) -> BackendProtocol:
        return ObjectBackend(azure, f"/company/{uuid4()}/")


@pytest.mark.parametrize("kind", ["s3", "azure"])
async def test_names_listings_and_metadata_survive_the_other_stores(kind: str, request: pytest.FixtureRequest):
    bucket = request.getfixturevalue(kind)
    files = ObjectBackend(bucket, "/names/")
    names = ["a b.md", "ünï.md", "漢字.md", "a'b\".md", ".hidden", "a%20b", "#", "*[x]?", "&amp;<>", "+"]
    for name in names:
        assert (await files.awrite(f"/docs/{name}", "one\n")).error is None
        assert (await files.aedit(f"/docs/{name}", "one", "two")).error is None
        assert await files.aread(f"/docs/{name}") == "     1\ttwo"
    assert [row["path"] for row in await files.als_info("/docs")] == sorted(f"/docs/{name}" for name in names)
    assert [row["path"] for row in await files.als_info("/")] == ["/docs/"]
    assert len(await files.agrep_raw("two")) == len(names)
    held = await bucket.look("names/docs/+")
    assert len(held.lineage) == 2


@pytest.mark.parametrize(
    ("kind", "changed", "why"),
    [
        ("s3", {"S3_BUCKET_NAME": "gone-bucket"}, "its bucket does not exist"),
        ("azure", {"AZURE_STORAGE_CONTAINER_NAME": "gone-bucket"}, "its bucket does not exist"),
        ("azure", {"AZURE_STORAGE_ACCOUNT_KEY": base64.b64encode(b"wrong").decode()}, "refuses access with these credentials"),
    ],
)
async def test_what_is_wrong_is_told_without_names(
    kind: str, changed: dict[str, str], why: str, request: pytest.FixtureRequest
):
    environment = request.getfixturevalue(f"{kind}_environment")
    files = ObjectBackend(open_bucket(Settings.load({**environment, **changed})), "/t1/")
    for answer in (await files.aread("/a.md"), (await files.als_info("/")).error, (await files.awrite("/a.md", "x")).error):
        assert why in answer
        assert not any(secret in answer for secret in ("gone-bucket", "127.0.0.1", ACCOUNT, "t1"))


async def test_what_another_program_stored_compressed_reads_as_what_it_holds(s3_environment: dict[str, str]):
    access = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    other = boto3.client("s3", endpoint_url=s3_environment["AWS_ENDPOINT_URL"], **access)
    other.put_object(Bucket="files", Key="zip/a.md", Body=gzip.compress(b"one\ntwo\n"), ContentEncoding="gzip")
    files = ObjectBackend(open_bucket(Settings.load(s3_environment)), "/zip/", max_file_bytes=5_000)
    assert await files.aread("/a.md") == "     1\tone\n     2\ttwo"
    assert (await files.aedit("/a.md", "two", "three")).error is None
    assert await files.aread("/a.md") == "     1\tone\n     2\tthree"
    stored = other.get_object(Bucket="files", Key="zip/a.md")
    assert (stored.get("ContentEncoding"), stored["Body"].read()) == (None, b"one\nthree\n")
    other.put_object(Bucket="files", Key="zip/bomb.md", Body=gzip.compress(b"x" * 1_000_000), ContentEncoding="gzip")
    assert "at most 5,000" in await files.aread("/bomb.md")
