"""docs/how-to/scale.md shows what benchmarks/scale_model.py computes, from figures that docs/benchmarks.md has."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks import scale_model


def test_the_page_shows_the_tables_of_the_model(root: Path):
    page = (root / "docs" / "how-to" / "scale.md").read_text(encoding="utf-8")
    assert f"{scale_model.BEGIN}\n{scale_model.tables()}\n{scale_model.END}" in page, "run benchmarks/scale_model.py --publish"


def test_page_model_and_published_benchmarks_have_the_same_figures(root: Path):
    page = (root / "docs" / "how-to" / "scale.md").read_text(encoding="utf-8")
    published = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    figures = scale_model.FIGURES
    assert f"api {figures.api_cpu_ms}, worker {figures.worker_cpu_ms}, postgres {figures.postgres_cpu_ms} ms" in published
    assert f"| CPU of the server | {figures.embedded_cpu_ms} ms, all of it | {figures.api_cpu_ms} ms |" in page
    assert f"| CPU of the worker | – | {figures.worker_cpu_ms} ms |" in page
    assert f"| CPU of Postgres | – | {figures.postgres_cpu_ms} ms |" in page
    (recovery,) = re.findall(r"a worker is killed: its runs are driven again .*?\| ([\d.]+ s) \|", published)
    assert f"(measured: {recovery})" in page


def test_in_the_model_groups_grow_with_the_load_until_the_log_is_full():
    light, heavy = scale_model.simulate(500, 10), scale_model.simulate(10_000, 10)
    assert light is not None
    assert heavy is not None
    assert light.group < heavy.group
    assert light.p50_ms < heavy.p50_ms
    assert scale_model.simulate(10_000_000, 10) is None
