"""Shows the progress of a local model: a bar that redraws itself in a terminal, an occasional line elsewhere."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from stepwell.models.status import ModelEvent, StatusBoard

BAR_CHARS = 30
REDRAW_S = 0.1
PLAIN_STEP = 0.1
"""Without a terminal, print a line for every tenth of the download."""


class ProgressBar:
    """Shows the progress of one model."""

    def __init__(self, screen: TextIO, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._screen = screen
        self._monotonic = monotonic
        self._live = screen.isatty()
        self._started: float | None = None
        self._drawn_at = float("-inf")
        self._told = -1.0
        self._open_line = False

    def show(self, event: ModelEvent) -> None:
        """Show an event. Downloads report often, so the bar is redrawn only at intervals."""
        match event.status:
            case "downloading":
                self._download(event)
            case "loading":
                self._line(f"Loading {event.model_id} …")
            case "error":
                self.close()  # the caller that requested the model gets the exception and prints it

    def close(self) -> None:
        """End the current line."""
        if self._open_line:
            self._screen.write("\n")
            self._screen.flush()
            self._open_line = False

    def _download(self, event: ModelEvent) -> None:
        now = self._monotonic()
        self._started = now if self._started is None else self._started
        progress = event.progress or 0.0
        finished = progress >= 1.0
        if self._live:
            if finished or now - self._drawn_at >= REDRAW_S:
                self._drawn_at = now
                self._screen.write(f"\r{self._bar(event, now - self._started)}")
                self._screen.flush()
                self._open_line = True
        elif finished != (self._told >= 1.0) or progress - self._told >= PLAIN_STEP:
            self._told = progress
            self._line(self._bar(event, now - self._started))

    def _bar(self, event: ModelEvent, seconds: float) -> str:
        progress = event.progress or 0.0
        filled = round(progress * BAR_CHARS)
        speed = event.done_bytes / seconds / 1e6 if seconds > 0.5 else 0.0
        bar = "#" * filled + "." * (BAR_CHARS - filled)
        amount = f"{event.done_bytes / 1e6:.1f} of {(event.total_bytes or 0) / 1e6:.1f} MB"
        rate = f"  {speed:.1f} MB/s" if speed else ""
        return f"[{bar}] {progress:4.0%}  {amount}{rate}  {event.file or ''}"

    def _line(self, text: str) -> None:
        self.close()
        self._screen.write(text + "\n")
        self._screen.flush()


@contextmanager
def show_progress(board: StatusBoard, screen: TextIO) -> Iterator[None]:
    """Show the progress of models while the block runs."""
    bar = ProgressBar(screen)
    stop = threading.Event()
    with board.following() as events:

        def follow() -> None:
            while not (stop.is_set() and events.empty()):
                try:
                    bar.show(events.get(timeout=REDRAW_S))
                except queue.Empty:
                    continue

        follower = threading.Thread(target=follow, name="stepwell-progress", daemon=True)
        follower.start()
        try:
            yield
        finally:
            stop.set()
            follower.join()
            bar.close()
