"""Pairs of claim and evidence from files of JSON lines, one file a set.

```
{"id": "17", "claim": "The mill has two wheels.", "evidence": "The mill is driven by two wheels.", "label": "supported"}
```

`label` is `supported`, `refuted`, `nei` (the evidence does not say) or `partial` (it says some of it).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from stepwell.errors import StepwellError
from stepwell.research.audit.evidence import Quote

Label = Literal["supported", "refuted", "nei", "partial"]
Half = Literal["odd", "even", "all"]
TRUE: tuple[Label, ...] = ("supported",)
FALSE: tuple[Label, ...] = ("refuted", "nei", "partial")


class PairsError(StepwellError):
    """A file or line that cannot be read; the message names it."""


@dataclass(frozen=True)
class Pair:
    claim: str
    evidence: str
    label: Label

    @property
    def is_true(self) -> bool:
        return self.label == "supported"

    @property
    def quote(self) -> Quote:
        """The whole evidence as one quote."""
        return Quote("e1", "s1", 0, len(self.evidence), self.evidence)


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


def draw(pairs: Iterable[Pair], most: int, seed: int) -> list[Pair]:
    """At most so many pairs, half of them with true claims and half with false ones, as far as there are enough. The same seed draws the
    same pairs."""
    given = list(pairs)
    chance = random.Random(seed)
    drawn: list[Pair] = []
    for own in ([each for each in given if each.is_true], [each for each in given if not each.is_true]):
        drawn += chance.sample(own, min(len(own), max(1, most // 2)))
    return drawn


def _pair(line: str, where: str) -> Pair:
    try:
        fields = json.loads(line)
        claim, evidence, label = fields["claim"], fields["evidence"], fields["label"]
    except (ValueError, TypeError, KeyError) as error:
        raise PairsError(f"{where}: this is no object with claim, evidence and label ({error}).") from error
    if not all(isinstance(text, str) and text.strip() for text in (claim, evidence)):
        raise PairsError(f"{where}: claim and evidence must be texts.")
    if label not in get_args(Label):
        raise PairsError(f"{where}: there is no label '{label}', only {', '.join(get_args(Label))}.")
    return Pair(claim, evidence, label)
