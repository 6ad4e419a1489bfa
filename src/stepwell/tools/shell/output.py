"""What a command printed, limited in size: the beginning and the end stay, the middle is counted and dropped.

However much is printed, memory stays within the limit.
"""

from __future__ import annotations


class BoundedOutput:
    """Collects bytes as they arrive; `text` returns the result."""

    def __init__(self, *, max_bytes: int, max_lines: int) -> None:
        self._half_bytes = max(1, max_bytes // 2)
        self._half_lines = max(1, max_lines // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._newlines = 0
        self.total_bytes = 0

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        self._newlines += data.count(b"\n")
        room = self._half_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half_bytes:  # not on every call: moving bytes costs more than keeping a few too many
            del self._tail[: -self._half_bytes]

    @property
    def total_lines(self) -> int:
        text = self._tail or self._head
        return self._newlines + (bool(text) and not text.endswith(b"\n"))

    @property
    def is_cut(self) -> bool:
        return self.total_bytes > 2 * self._half_bytes or self.total_lines > 2 * self._half_lines

    def text(self) -> str:
        """All of it, or its two ends with a note between them."""
        if not self.is_cut:
            return _decode(self._head + self._tail)
        if self.total_bytes > 2 * self._half_bytes:
            head, tail = _decode(self._head), _decode(self._tail[-self._half_bytes :])
        else:
            head = tail = _decode(self._head + self._tail)
        first = head.splitlines(keepends=True)[: self._half_lines]
        last = tail.splitlines(keepends=True)[-self._half_lines :]
        beginning, end = "".join(first).rstrip("\n"), "".join(last)
        return f"{beginning}\n{self._note()}\n{end}"

    def _note(self) -> str:
        whole = f"{self.total_lines} lines, {self.total_bytes} bytes in all"
        return f"[... the middle is left out: {whole}. Send long output to a file and look at parts of it ...]"


def _decode(data: bytes | bytearray) -> str:
    # Some checkpoint stores reject NUL in text.
    return data.decode("utf-8", "replace").replace("\0", "\ufffd")
