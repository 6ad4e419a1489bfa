"""The progress of a local model, as a person or a log sees it."""

from __future__ import annotations

from io import StringIO

from stepwell.cli.model_progress import ProgressBar, show_progress
from stepwell.models.status import ModelEvent, StatusBoard


class Screen(StringIO):
    def __init__(self, live):
        super().__init__()
        self._live = live

    def isatty(self):
        return self._live


def download(done, total=1_000_000):
    return ModelEvent("tiny", "downloading", "tiny.gguf", done, total)


def test_a_terminal_sees_one_line_that_redraws_itself():
    screen, now = Screen(live=True), iter(range(100))
    bar = ProgressBar(screen, lambda: float(next(now)))
    for done in (0, 500_000, 1_000_000):
        bar.show(download(done))
    bar.close()
    assert screen.getvalue().count("\n") == 1
    assert screen.getvalue().count("\r") == 3
    assert "100%  1.0 of 1.0 MB  0.5 MB/s  tiny.gguf" in screen.getvalue()


def test_a_log_gets_a_line_for_every_tenth():
    screen = Screen(live=False)
    bar = ProgressBar(screen, lambda: 0.0)
    for done in range(0, 1_000_001, 10_000):
        bar.show(download(done))
    lines = screen.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[-1].startswith("[##############################] 100%")


def test_an_error_ends_the_line_and_leaves_its_words_to_whoever_asked():
    screen = Screen(live=True)
    bar = ProgressBar(screen, lambda: 0.0)
    bar.show(download(500_000))
    bar.show(ModelEvent("tiny", "error", message="The disk is full. Free 98 MB."))
    assert screen.getvalue().endswith("tiny.gguf\n")
    assert "disk" not in screen.getvalue()


def test_everything_published_in_the_block_is_shown():
    screen, board = Screen(live=False), StatusBoard()
    with show_progress(board, screen):
        board.publish(ModelEvent("tiny", "loading"))
    assert screen.getvalue() == "Loading tiny …\n"
    board.publish(ModelEvent("tiny", "loading"))
    assert screen.getvalue().count("Loading") == 1


def test_the_board_knows_the_latest_and_starts_idle():
    board = StatusBoard()
    assert board.latest("tiny").status == "idle"
    board.publish(download(250_000))
    assert board.latest("tiny").progress == 0.25
