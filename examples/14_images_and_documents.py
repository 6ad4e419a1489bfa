"""Images and notebooks: the agent looks at what `read_file` finds, if its model can; a long request becomes a file that it can search."""

import json
import struct
import tempfile
import zlib
from pathlib import Path

from stepwell import FilesystemBackend, create_deep_agent

NOTEBOOK = {
    "cells": [{"cell_type": "code", "source": "depth = 19.5 + 8", "outputs": [{"output_type": "stream", "text": "27.5"}]}]
}
REQUEST = "What colour is /flag.png, and which depth does /well.ipynb compute? The log of the pump:\n"
LOG = "\n".join(f"minute {n}: {'the pump failed' if n == 21_500 else 'fine'}" for n in range(30_000))


def red_image(width, height):
    rows = (b"\0" + b"\xff\0\0" * width) * height
    parts = (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )


def main(model=None):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "flag.png").write_bytes(red_image(64, 48))
        Path(folder, "well.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
        agent = create_deep_agent(model, backend=FilesystemBackend(root_dir=folder))
        result = agent.invoke({"messages": [("user", f"{REQUEST}{LOG}\nWhen did the pump fail?")]})
        for message in result["messages"][1:]:  # the first is the whole request
            if message.text:
                print(f"{message.type}: {message.text}")


if __name__ == "__main__":
    from start import start

    start(main)
