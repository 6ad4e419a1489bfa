"""Claim: a workspace of 500 files in object storage is listed and read with at most half the client's CPU of Google's own library.

Both clients speak to the same fake store on a loopback port, which lives in the process of the benchmark; what counts is the CPU of
the client's process, its threads included. Google's library reads with 32 threads, ours with 32 requests at once; ours gives numbered
lines, the way a model reads them, Google's the bytes. Each round is a process of its own that works once to warm up, and is then
measured: `python -m benchmarks.objects google|ours CREDENTIALS`.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import environments
from benchmarks.bench import ROOT, Bench, Row, log, ratio, worker_environment

OBJECTS = 500
BYTES = 2_000
AT_ONCE = 32
LIMIT = 0.5
BUCKET, FOLDER = "files", "company/workspace"


def read_with_google(credentials: str) -> Callable[[], int]:
    from concurrent.futures import ThreadPoolExecutor

    import requests
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage

    address = json.loads(credentials)["gcs_base_url"]
    client = storage.Client("bench", AnonymousCredentials(), client_options={"api_endpoint": address})
    # As many kept connections as threads: with requests' own ten, most downloads would open a new one.
    client._http.mount("http://", requests.adapters.HTTPAdapter(pool_connections=AT_ONCE, pool_maxsize=AT_ONCE))

    def work() -> int:
        blobs = list(client.list_blobs(BUCKET, prefix=f"{FOLDER}/"))
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return sum(len(data) for data in threads.map(lambda blob: blob.download_as_bytes(), blobs))

    return work


def read_with_ours(credentials: str) -> Callable[[], int]:
    from stepwell.backends.objects import ObjectBackend, Patience, open_bucket
    from stepwell.settings import Settings

    settings = Settings.load({"GCS_BUCKET_NAME": BUCKET, "GOOGLE_CLOUD_CREDENTIALS_JSON": credentials})
    files = ObjectBackend(open_bucket(settings, Patience(at_once=AT_ONCE)), FOLDER)

    async def read_all() -> int:
        rows = await files.aglob_info("**")
        texts = await asyncio.gather(*(files.aread(row["path"]) for row in rows))
        return sum(len(text.partition("\t")[2]) for text in texts)

    return lambda: asyncio.run(read_all())


def main() -> None:
    who, credentials = sys.argv[1:]
    work = {"google": read_with_google, "ours": read_with_ours}[who](credentials)
    work()
    before = _cpu()
    size = work()
    print(json.dumps({"cpu_ms": 1000 * (_cpu() - before), "bytes": size}))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rows(bench: Bench) -> list[Row]:
    from stepwell.testing.objects import FakeObjectStore

    pythons: dict[str, Path] = {"ours": Path(sys.executable)}
    try:
        pythons["google"] = environments.google_storage_python()
    except (environments.EnvironmentFailure, subprocess.TimeoutExpired) as failure:
        bench.problems["google-cloud-storage: environment"] = str(failure)
    spent: dict[str, list[float]] = {who: [] for who in pythons}
    with FakeObjectStore(BUCKET) as store:
        for number in range(OBJECTS):
            store.contents.put(BUCKET, f"{FOLDER}/docs/{number:03}.md", b"x" * BYTES)
        for _ in range(2 if bench.quick else 5):
            for who, python in pythons.items():
                spent[who].append(_ask(python, who, store.credentials_json))
    bench.raw["objects"] = spent
    best = {who: min(times) for who, times in spent.items()}
    log(f"objects: {best}")
    google = best.get("google")
    return [
        Row(
            f"{OBJECTS} objects of {BYTES // 1000} kB listed and read, client's CPU beside google-cloud-storage with {AT_ONCE} threads",
            f"≤ {LIMIT}x",
            ratio(best["ours"], google),
            None,
            None,  # the column is for another harness
            LIMIT,
            note=f"ours {best['ours']:.0f} ms" + (f", google-cloud-storage {google:.0f} ms" if google else ""),
        )
    ]


def _ask(python: Path, who: str, credentials: str) -> float:
    command = [str(python), "-m", "benchmarks.objects", who, credentials]
    done = subprocess.run(
        command, cwd=ROOT, env=worker_environment(who), capture_output=True, text=True, timeout=120, check=True
    )
    figures = json.loads(done.stdout)
    if figures["bytes"] != OBJECTS * BYTES:
        raise RuntimeError(f"{who} read {figures['bytes']} bytes instead of {OBJECTS * BYTES}")
    return float(figures["cpu_ms"])


if __name__ == "__main__":
    main()
