"""What a device answers, held to the cases that the page's own device is held to (`web/src/device/operations.test.ts`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.folder_device import FolderDevice

KEPT = json.loads((Path(__file__).parents[2] / "fixtures/device_cases.json").read_text())


@pytest.mark.parametrize("case", KEPT["cases"], ids=lambda case: case["name"])
def test_a_folder_answers_as_a_page_does(case: dict[str, Any], tmp_path: Path):
    for path, text in KEPT["files"].items():
        place = tmp_path / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    question = {"requires_approval": case["requires_approval"], "tool_calls": case["calls"]}
    answer = FolderDevice(FilesystemBackend(root_dir=tmp_path)).answer(question, approve=lambda changes: case["approve"])
    assert _without_times(answer["tool_results"]) == case["results"]
    after = {f"/{place.relative_to(tmp_path).as_posix()}": place.read_bytes().decode() for place in _files(tmp_path)}
    assert after == {path: text for path, text in {**KEPT["files"], **case["changed"]}.items() if text is not None}


def _files(folder: Path) -> list[Path]:
    return [place for place in folder.rglob("*") if place.is_file()]


def _without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_times(each) for each in value]
    if isinstance(value, dict):
        return {name: _without_times(each) for name, each in value.items() if name != "modified_at"}
    return value
