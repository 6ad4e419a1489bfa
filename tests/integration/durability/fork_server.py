"""A process that has imported everything once and forks servers that start in a fraction of a second. Started by `processes.py`.

Its arguments are the modules to import. It takes lines of JSON. `{"start": {...}}` forks `stepwell serve` with that port, environment
and file for its log, and says `pid <n>`; the first screen of the server follows. `{"reap": n}` waits for one and says
`gone <n> <status>`. It must not have a second thread: a fork would lose it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from importlib import import_module
from pathlib import Path

from stepwell.cli import serve
from stepwell.errors import StepwellError


def import_all(modules: list[str]) -> None:
    """What a server imports on its way up; nothing of it opens or starts anything."""
    for module in modules:
        import_module(module)
    from stepwell.agent import create_deep_agent
    from stepwell.testing import ScriptedModel, say

    create_deep_agent(ScriptedModel([say("warm")]))
    assert threading.active_count() == 1, "a fork copies only the thread that forks"


def child(graphs: str, port: int, environment: dict[str, str], log: str) -> int:
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), sys.stderr.fileno())
    os.environ.update(environment)
    try:
        return serve.run(host=None, port=port, graphs=Path(graphs), database_url=None, insecure=False)
    except StepwellError as error:
        print(f"refused {error}", flush=True)
        return 2
    except Exception as error:
        traceback.print_exc()
        print(f"refused {error!r}", flush=True)
        return 1


def main() -> None:
    import_all(sys.argv[1:])
    print("warm", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if number := order.get("reap"):
            _, status = os.waitpid(number, 0)
            print(f"\ngone {number} {status}", flush=True)  # a killed server may have left half a line
        elif pid := os.fork():
            print(f"pid {pid}", flush=True)
        else:
            sys.stdin.close()
            os._exit(child(**order["start"]))


if __name__ == "__main__":
    os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
    main()
