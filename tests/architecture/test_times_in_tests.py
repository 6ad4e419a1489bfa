"""No test knows how fast the machine is: it waits for facts, and holds no elapsed time against a number.

A machine that is slow or shared fails such a test, and a fast one hides what it was written for. How time grows is a ratio of two
measurements (`tests/support/growth.py`), a wait ends with what it waits for (`tests/support/waiting.py`), and a time-out is a minute or
more: it only tells an end from a hang. What something takes in seconds is asked in `make prove`, behind `effort.long`, and in
`benchmarks/`.
"""

from __future__ import annotations

import ast

import pytest

CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
LONGEST_PAUSE_S = 0.1
"""Between two looks at a fact, or before a look that should find nothing."""
SHORTEST_TIME_OUT_S = 60

# What lasts so long is what happens in the test, and nobody waits for the end of it.
HAPPENS = {
    "tests/integration/bridges/test_mcp_client.py: restart": "a server is down for longer than clients wait by themselves",
    "tests/integration/durability/test_stopping.py: test_a_server_that_is_frozen_for_a_while_loses_nothing": "a server is frozen",
    "tests/integration/postgres/test_outages.py: test_a_step_that_blocks_its_worker_keeps_its_runs": "a step blocks its worker",
    "tests/integration/postgres/test_group_commit.py: sleep_at_first": "a process sleeps in the middle of a transaction",
    "tests/integration/payments/test_attacks.py: nap": "a tool takes so long that its run is always stopped",
    "tests/integration/test_shell_sandbox.py: changes": "a file that is written ten times a second is looked at twice",
}


class Reader(ast.NodeVisitor):
    """Finds what a module does with time. Knows which names and functions of it stand for a time that has passed."""

    def __init__(self, tree: ast.Module) -> None:
        self.judged: list[int] = []
        """Lines that hold a time that has passed against a number."""
        self.slept: list[str] = []
        """Functions that sleep, not in a loop."""
        self.hurried: list[int] = []
        """Lines with a short time-out."""
        self._functions, self._loops, self._elapsed = [""], 0, set[str]()
        while any(map(_is_clock, ast.walk(tree))) and self._learn(tree):
            pass
        self.visit(tree)

    def _learn(self, tree: ast.Module) -> bool:
        """Whether there was another name for a time that has passed."""
        before = len(self._elapsed)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and self._is_elapsed(node.value):
                self._elapsed.update(
                    name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
                )
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                returns = (each for each in ast.walk(node) if isinstance(each, ast.Return) and each.value)
                if any(self._is_elapsed(each.value) for each in returns):
                    self._elapsed.add(node.name)
        return len(self._elapsed) > before

    def _is_elapsed(self, value: ast.AST | None) -> bool:
        """Whether something is subtracted from a clock in it, or it names something of which that is known."""
        return value is not None and any(
            (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and any(map(_is_clock, ast.walk(node.left))))
            or (isinstance(node, ast.Name) and node.id in self._elapsed)
            for node in ast.walk(value)
        )

    def visit_Assert(self, node: ast.Assert) -> None:
        if not any(isinstance(each, ast.Name) and each.id == "effort" for each in ast.walk(node.test)):
            compared = (each for each in ast.walk(node.test) if isinstance(each, ast.Compare))
            self.judged += [each.lineno for each in compared if self._is_judged(each)]
        self.generic_visit(node)

    def _is_judged(self, node: ast.Compare) -> bool:
        """Whether a time has to be below a number. At least so long it may be: no machine is too slow for that."""
        sides = [node.left, *node.comparators]
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            small, large = (left, right) if isinstance(operator, ast.Lt | ast.LtE) else (right, left)
            if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and self._is_elapsed(small) and _is_fixed(large):
                return True
        return False

    def visit_Call(self, node: ast.Call) -> None:
        called, last = _name(node), node.args[-1] if node.args else None
        number = last.value if isinstance(last, ast.Constant) and isinstance(last.value, int | float) else None
        if called in ("sleep", "wait_for_timeout") and number is not None and not self._loops:
            if number > (LONGEST_PAUSE_S if called == "sleep" else 1000 * LONGEST_PAUSE_S):
                self.slept.append(self._functions[-1])
        elif called in ("timeout", "wait_for") and number is not None and number < SHORTEST_TIME_OUT_S:
            self.hurried.append(node.lineno)
        self.generic_visit(node)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        loops, self._loops = self._loops, 0
        self._functions.append(node.name)
        self.generic_visit(node)
        self._functions.pop()
        self._loops = loops

    def _visit_loop(self, node: ast.stmt) -> None:
        self._loops += 1
        self.generic_visit(node)
        self._loops -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function
    visit_While = visit_For = visit_AsyncFor = _visit_loop


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node) in CLOCKS and not node.args


def _is_fixed(node: ast.AST) -> bool:
    """A number, or one that has a name: nothing in it was measured."""
    names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    return all(name.isupper() for name in names) and not any(isinstance(each, ast.Call) for each in ast.walk(node))


@pytest.fixture(scope="module")
def readers(project_texts: dict[str, str]) -> dict[str, Reader]:
    """The modules with tests. What they put into a server or a browser, which other modules hold, may take its time."""
    names = [name for name in project_texts if name.startswith("tests/") and name.rpartition("/")[2].startswith("test_")]
    return {name: Reader(ast.parse(project_texts[name])) for name in names if name.endswith(".py")}


def test_no_elapsed_time_is_held_against_a_number(readers: dict[str, Reader]):
    assert [f"{name}:{line}" for name, reader in readers.items() for line in reader.judged] == []


def test_nobody_sleeps_for_a_fixed_time(readers: dict[str, Reader]):
    slept = {f"{name}: {function}" for name, reader in readers.items() for function in reader.slept}
    assert sorted(slept - set(HAPPENS)) == []
    assert sorted(set(HAPPENS) - slept) == [], "no longer needed"


def test_time_outs_are_a_minute_or_more(readers: dict[str, Reader]):
    assert [f"{name}:{line}" for name, reader in readers.items() for line in reader.hurried] == []


@pytest.mark.parametrize(
    "code",
    [
        "assert time.monotonic() - began < 2",
        "took = perf_counter() - began\nassert 2 >= took",
        "took = perf_counter() - began\nassert took <= MOST_S + 1",
        "def took():\n    return time.process_time() - began\nassert 0 < max(took(), took()) < 3",
    ],
)
def test_a_time_that_is_held_against_a_number_would_be_found(code: str):
    assert len(Reader(ast.parse(code)).judged) == 1


@pytest.mark.parametrize(
    "code",
    [
        "while time.monotonic() < deadline:\n    time.sleep(0.5)",
        "took = time.monotonic() - began\nassert took < 3 * other",
        "took = time.monotonic() - began\nassert took >= 0.3",
        "took = time.monotonic() - began\nassert not effort.long or took < 1",
    ],
)
def test_waiting_ratios_least_times_and_proofs_are_let_through(code: str):
    reader = Reader(ast.parse(code))
    assert (reader.judged, reader.slept) == ([], [])
