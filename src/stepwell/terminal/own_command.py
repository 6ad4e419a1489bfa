"""Spells our commands so that they work in the user's current folder: every command in a message can be copied and run.

```
stepwell                  on PATH, and this installation
.venv/bin/stepwell        a clone, or an environment that is not activated
/usr/bin/python -m stepwell   an installation without a script
```
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

_NAME = "stepwell"


def spell_command(arguments: str) -> str:
    """A command line for this installation: in a clone, `spell_command("serve")` is `.venv/bin/stepwell serve`."""
    return f"{_program()} {arguments}"


def _program() -> str:
    script = Path(sys.executable).parent / _NAME  # not resolved, because an environment's Python is a link to another folder
    if not script.exists():
        return f"{shlex.quote(sys.executable)} -m {_NAME}"
    on_path = shutil.which(_NAME)
    if on_path and Path(on_path).resolve() == script.resolve():
        return _NAME
    return shlex.quote(_shortest(script))


def _shortest(script: Path) -> str:
    try:
        return os.fspath(script.relative_to(Path.cwd()))
    except (ValueError, OSError):  # the script is elsewhere, or the working folder was deleted
        return os.fspath(script)
