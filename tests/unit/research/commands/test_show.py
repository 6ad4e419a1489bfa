"""`stepwell show`: which sentence is meant, what stands around a quote, and how it looks on a terminal and in a pipe."""

from __future__ import annotations

import fcntl
import io
import pty
import struct
import termios
from pathlib import Path

import pytest
from tests.unit.research.audit.test_export import make_bundle

from stepwell.research.audit.evidence import Claim
from stepwell.research.audit.levels import describe_meaning
from stepwell.research.commands.show import AROUND_CHARS, choose_sentences, run, text_around
from stepwell.settings import Settings

CLAIMS = [
    Claim(f"c{number}", text)
    for number, text in enumerate(
        [
            "The well has 12 steps.",
            "It was dug in 1999.",
            "Steps of the well are wet [sic].",
            "Καλημέρα Дом 水。",
        ],
        1,
    )
]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("2", [2]),
        ("12", [1]),
        ("1999", [2]),
        ("999", []),
        ("0", []),
        ("9" * 5_000, []),
        ("²", []),
        ("well", [1, 3]),
        ("steps  OF", [3]),
        ("steps well", [1, 3]),
        ("wet [sic]", [3]),
        ("The well has 12 steps [1, 2].", [1]),
        ("- The well has 12 steps [s1](https://a.example/). *(not settled)*", [1]),
        ("The well has 12 steps [1]. *(not settled: the source does not say “12”)*", [1]),
        ("水", [4]),
        ("[1]", []),
        ("zebra", []),
    ],
)
def test_a_sentence_is_chosen_by_number_or_words(asked: str, found: list[int]):
    assert choose_sentences(CLAIMS, asked) == found


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("QUOTE", ("", "")),
        ("Before it. QUOTE After it.\n", ("Before it.", "After it.\n")),
        ("a\nb\nc\nd\nQUOTE\n\ne\nf\ng\nh\n", ("…b\nc\nd", "e\nf\ng…")),
        ("x" * AROUND_CHARS + "QUOTE" + "y" * AROUND_CHARS, ("x" * AROUND_CHARS, "y" * AROUND_CHARS)),
        ("x" * 999 + "QUOTE" + "y" * 999, ("…" + "x" * AROUND_CHARS, "y" * AROUND_CHARS + "…")),
    ],
)
def test_the_text_around_a_quote_is_short_and_says_where_there_is_more(text: str, around: tuple[str, str]):
    start = text.index("QUOTE")
    assert text_around(text, start, start + 5) == (around[0], around[1].rstrip())


def test_the_text_around_a_quote_ends_with_whole_words():
    before, after = text_around("long words " * 99 + "QUOTE" + " long words" * 99, 11 * 99, 11 * 99 + 5)
    assert set(before.removeprefix("…").split()) == set(after.removesuffix("…").split()) == {"long", "words"}
    assert before.startswith("…")
    assert after.endswith("…")


def show(bundle: Path, sentence: str = "") -> str:
    screen = io.StringIO()
    assert run(str(bundle), sentence, settings=Settings(), screen=screen) == 0
    return screen.getvalue()


@pytest.fixture
async def bundle(tmp_path: Path) -> Path:
    return await make_bundle(tmp_path / "b.zip")


def test_the_list_names_the_level_of_sentences_that_are_not_supported(bundle: Path):
    shown = show(bundle)
    assert "1. The well has 12 steps.\n   Wells " in shown
    below = shown.partition("2. It has 900 windows.\n")[2].splitlines()
    assert below[1].startswith("   Not in its source, so left out of the report: ")
    assert "Supported" not in shown
    assert "Word for word" not in shown
    assert f"stepwell show {bundle} 1\n" in shown


def test_a_sentence_is_shown_with_quote_address_time_and_hash(bundle: Path):
    shown = show(bundle, "1").splitlines()
    assert shown[:2] == ["1. The well has 12 steps.", "   Word for word or nearly"]
    assert shown[2].strip() == describe_meaning("verbatim")
    assert "  > The well has 12 steps. Καλημέρα Дом 水." in shown
    assert "  https://wells.example/a?b=1&c=%3Cx%3E" in shown
    assert "  read 2 January 2026, 03:04 UTC; characters 0 to 38 of its text" in shown
    assert shown[-1].startswith("  sha256 ")
    assert len(shown[-1]) == len("  sha256 ") + 64


async def test_a_page_cannot_control_the_terminal(tmp_path: Path):
    hostile = await make_bundle(tmp_path / "h.zip", "The well has 12 steps.\x1b[2J\x9b2J \u202eturned\r\x07 Καλημέρα Дом 水.")
    said = show(hostile) + show(hostile, "1")
    assert not set(said) & set("\x1b\x9b\r\x07\u202e\u2066")


def on_terminal(bundle: Path, columns: int, settings: Settings) -> str:
    """What the command writes to a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with open(theirs, "w", encoding="utf-8") as screen, open(ours, "rb", buffering=0) as seen:
        run(str(bundle), "1", settings=settings, screen=screen)
        screen.write("\x04")
        screen.flush()
        shown = b""
        while not shown.endswith(b"\x04"):  # one read may bring only a part
            shown += seen.read(65_536)
        return shown.removesuffix(b"\x04").decode().replace("\r\n", "\n")


async def test_a_terminal_gets_wrapped_lines_and_styles(tmp_path: Path):
    long = "The well has 12 steps. " + "It is deep, and its water is cold in every month of the year. " * 3 + "Καλημέρα Дом 水."
    bundle = await make_bundle(tmp_path / "b.zip", long)
    styled = on_terminal(bundle, 40, Settings())
    assert "\x1b[1mThe well has 12 steps.\x1b[0m" in styled
    plain = on_terminal(bundle, 40, Settings.load({"NO_COLOR": "1"}))
    assert "\x1b" not in plain
    lines = [line for line in plain.splitlines() if line.startswith("  > ")]
    assert len(lines) > 4
    assert max(map(len, plain.splitlines())) <= 40
    assert " ".join(line.removeprefix("  > ") for line in lines) == long
    assert f"\n  > {long}\n" in show(bundle, "1"), "a pipe gets it in one line"
