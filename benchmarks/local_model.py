"""Claim: the embedded model decodes about as fast as its runtime does. Time per token and load time on 2 threads, beside
`xllamacpp` called directly.

Both get the same file, context, threads, question, seed, sampling and number of tokens, and `OMP_WAIT_POLICY=passive`. Each round
is a process of its own: load, read the question once to warm up, then decode. Where the runtime is not installed or the file
cannot be had, the rows say so and nothing is measured.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Figures, Row, best, log, ratio

THREADS = 2
CONTEXT = 8192
QUESTION = "Write a long story about an old well in a village and the people who come to it."
WHO = ("floor", "ours")


def measure(contestant: ModuleType, *, file: str, tokens: int) -> dict[str, Any]:
    """Wall and CPU milliseconds per token between the first and the last one; wall and CPU seconds of loading."""
    os.environ["OMP_WAIT_POLICY"] = "passive"  # read once, when the runtime is imported
    before = _clocks()
    decode = contestant.local_model(Path(file), context=CONTEXT, threads=THREADS)
    loaded = _clocks()
    decode(QUESTION, 4, lambda text: None)
    asked = _clocks()
    stamps: list[tuple[float, float]] = []
    pieces: list[str] = []

    def take(text: str) -> None:
        stamps.append(_clocks())
        pieces.append(text)

    decode(QUESTION, tokens, take)
    if len(pieces) < 0.9 * tokens:
        raise RuntimeError(f"The answer came in {len(pieces)} pieces instead of {tokens}.")
    wall, cpu = (1000 * (last - first) / (len(stamps) - 1) for first, last in zip(stamps[0], stamps[-1], strict=True))
    return {
        "wall_ms_per_token": wall,
        "cpu_ms_per_token": cpu,
        "load_s": loaded[0] - before[0],
        "load_cpu_s": loaded[1] - before[1],
        "first_token_ms": 1000 * (stamps[0][0] - asked[0]),
        "tokens": len(pieces),
        "text": hashlib.sha256("".join(pieces).encode()).hexdigest()[:12],
    }


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def rows(bench: Bench) -> list[Row]:
    file, reason = _file(bench)
    if file is None:
        return _table({name: [] for name in WHO}, f"skipped: {reason}")
    parameters = {"file": str(file), "tokens": 64 if bench.quick else 128}
    figures = bench.rounds("local_model", parameters, count=2 if bench.quick else 4, who=WHO, fresh=True)
    bench.raw["local_model"]["parameters"] = {"tokens": parameters["tokens"]}  # without the place of the file on this machine
    return _table(figures, _remark(figures))


def _file(bench: Bench) -> tuple[Path | None, str]:
    """The model's file, fetched if need be; otherwise None and why it cannot be had."""
    if bench.pythons.get("ours") is None:
        return None, "stepwell is not installed here"
    if importlib.util.find_spec("xllamacpp") is None:
        return None, "the extra [local] is not installed; pip install 'stepwell[local]'"
    from stepwell.errors import StepwellError
    from stepwell.models import DEFAULT_LOCAL_MODEL, LocalModels
    from stepwell.settings import Settings

    users = Settings.load().data_folder / "models"
    # The user's own folder if the file is there already; otherwise one beside the environment, which the tests use too.
    folder = users if LocalModels(users).is_downloaded(DEFAULT_LOCAL_MODEL) else Path(sys.prefix) / "stepwell-models"
    models = LocalModels(folder)
    if not models.is_downloaded(DEFAULT_LOCAL_MODEL):
        log("fetching the embedded model, 93 MB ...")
    try:
        return models.pull(DEFAULT_LOCAL_MODEL), ""
    except (StepwellError, OSError) as failure:
        return None, f"the model's file cannot be had: {failure}"


def _remark(figures: Figures) -> str:
    """The floor's own figures, and whether both wrote the same."""
    floor = {key: best(figures, "floor", key) for key in ("wall_ms_per_token", "cpu_ms_per_token")}
    texts = {result["text"] for results in figures.values() for result in results}
    same = "everybody wrote the same text" if len(texts) == 1 else f"{len(texts)} different texts were written"
    if not floor["wall_ms_per_token"] or not floor["cpu_ms_per_token"]:
        return ""
    return (
        f"floor {floor['wall_ms_per_token']:.1f} ms of wall and {floor['cpu_ms_per_token']:.1f} ms of CPU per token "
        f"({1000 / floor['wall_ms_per_token']:.0f} tokens/s), {THREADS} threads, SmolLM2 135M Q4_1; {same}"
    )


def _table(figures: Figures, note: str) -> list[Row]:
    found = []
    for claim, key in (("CPU", "cpu_ms_per_token"), ("wall time", "wall_ms_per_token")):
        floor = best(figures, "floor", key)
        line = f"embedded model, decoding, {claim} per token"
        found.append(Row(line, "≤ 1.1x floor", ratio(best(figures, "ours", key), floor), ratio(floor, floor), None, 1.1))
    found[0].note = note
    load = {name: best(figures, name, "load_s") for name in WHO}
    seconds = "{:.2f} s".format
    about = "from the call to a loaded model, runtime import included; the file is in the page cache" if load["ours"] else note
    found.append(Row("the same, loading, wall time", "–", load["ours"], load["floor"], None, None, form=seconds, note=about))
    return found
