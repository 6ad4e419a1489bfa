"""How a person types our commands from where they are: every message that says "do this" can be copied as it stands.

```
stepwell                  it is on PATH, and it is this installation
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
    """`arguments` behind the name that starts this installation: `spell_command("serve")` is `.venv/bin/stepwell serve` in a clone."""
    return f"{_program()} {arguments}"


def _program() -> str:
    script = Path(sys.executable).parent / _NAME  # not resolved: an environment's Python is a link to another folder
    if not script.exists():
        return f"{shlex.quote(sys.executable)} -m {_NAME}"
    on_path = shutil.which(_NAME)
    if on_path and Path(on_path).resolve() == script.resolve():
        return _NAME
    return shlex.quote(_shortest(script))


def _shortest(script: Path) -> str:
    try:
        return os.fspath(script.relative_to(Path.cwd()))
    except (ValueError, OSError):  # elsewhere, or the folder we stand in is gone
        return os.fspath(script)
