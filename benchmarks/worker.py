"""The far side of a measurement: one contestant in its own process, asked over stdin, answering over stdout, a JSON line each.

`python -m benchmarks.worker floor` then `{"claim": "step", "parameters": {...}}` gives `{"result": {...}}` or `{"error":
"..."}`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import traceback


def main() -> None:
    # Whatever a library prints must not end up among the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    contestant = importlib.import_module(f"benchmarks.contestants.{sys.argv[1]}")
    for line in sys.stdin:
        request = json.loads(line)
        gc.collect()
        try:
            claim = importlib.import_module(f"benchmarks.{request['claim']}")
            answer = {"result": claim.measure(contestant, **request["parameters"])}
        except Exception as failure:  # one contestant's failure is a cell of the table, not the end of the run
            traceback.print_exc()
            answer = {"error": f"{type(failure).__name__}: {failure}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
