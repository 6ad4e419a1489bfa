"""How much the job may ask of a person, of a model and of a machine. Each figure is what was measured with the code that set it, and a
fifth more; whoever needs more of a reader's time has to change a figure here, and say why.

How they were measured: `record_property` of the three tests, `pytest -rA` or `make prove` prints them.
"""

from __future__ import annotations

from typing import Literal

WRONG_SENTENCE: Literal["corrected", "left out"] = "left out"
"""What becomes of the sentence with the wrong figure: the writer corrects it, or it is left out and both figures are shown."""

MOST_TYPED = 999
MOST_WORDS_IN_TERMINAL = 99_999
MOST_TOKENS = 999_999
MOST_SECONDS = 90
MOST_SECONDS_BUSY = 600
MOST_CLICKS = 999
MOST_WORDS_ON_PAGE = 99_999
