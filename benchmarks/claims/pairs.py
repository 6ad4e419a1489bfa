"""Pairs of claim and evidence from files of JSON lines, one file a set.

```
{"id": "17", "claim": "The mill has two wheels.", "evidence": "The mill is driven by two wheels.", "label": "supported"}
```

`label` is `supported`, `refuted`, `nei` (the evidence does not say) or `partial` (it says some of it).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Label = Literal["supported", "refuted", "nei", "partial"]
Half = Literal["odd", "even", "all"]
TRUE: tuple[Label, ...] = ("supported",)
FALSE: tuple[Label, ...] = ("refuted", "nei", "partial")


class PairsError(Exception):
    """A file or line that cannot be read; the message names it."""


@dataclass(frozen=True)
class Pair:
    claim: str
    evidence: str
    label: Label


def find_sets(folder: Path) -> dict[str, Path]:
    """The sets of a folder by name: its `.jsonl` files, or the one file that was named."""
    files = [folder] if folder.is_file() else sorted(folder.glob("*.jsonl"))
    if not files:
        raise PairsError(f"There is no .jsonl file in '{folder}'. See docs/benchmarks.md for where public sets are to be had.")
    return {file.stem: file for file in files}


def read_pairs(file: Path, half: Half = "all") -> Iterator[Pair]:
    """The pairs of a file, or those of its odd or even lines. The first line is odd."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and half in ("all", "odd" if number % 2 else "even"):
            yield _pair(line, f"{file.name}, line {number}")


def _pair(line: str, where: str) -> Pair:
    try:
        fields = json.loads(line)
        pair = Pair(fields["claim"], fields["evidence"], fields["label"])
    except (ValueError, TypeError, KeyError) as error:
        raise PairsError(f"{where}: this is no object with claim, evidence and label ({error}).") from error
    if not isinstance(pair.claim, str) or not isinstance(pair.evidence, str):
        raise PairsError(f"{where}: claim and evidence must be texts.")
    if pair.label not in get_args(Label):
        raise PairsError(f"{where}: there is no label '{pair.label}', only {', '.join(get_args(Label))}.")
    return pair
