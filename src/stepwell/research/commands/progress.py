"""The progress of a research, as lines: which node has finished with which result, what comes next, how each step went."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stepwell.terminal.dialogue.session import StreamPart

NAMES = {
    "intake": "question",
    "thinker": "plan",
    "auditor": "audit",
    "hitl_gate": "gate",
    "tool_executor": "search",
    "search_retry": "search",
    "follow_up": "search",
    "source_review": "sources",
    "synthesizer": "report",
}
_WIDTH = 9


class ResearchProgress:
    """Turns updates of the graph into lines. Use one per research: it remembers the plan."""

    def __init__(self) -> None:
        self._steps: dict[str, Mapping[str, Any]] = {}
        self._told: dict[str, str] = {}

    def lines(self, node: str, update: Mapping[str, Any]) -> Iterator[str]:
        """The lines for an update; none for updates that only the graph needs."""
        self._remember(update)
        if node == "tool_executor":
            yield from self._outputs()
        for entry in update.get("reasoning") or ():
            if node != "tool_executor" or str(entry.get("summary", "")).startswith("Error"):
                yield _line(node, str(entry.get("summary", "")))
        if node == "intake" and update.get("status") != "failed":
            yield _line("thinker", "making a plan ...")
        if node == "hitl_gate" and update.get("human_approved"):
            for number, step in enumerate(self._steps.values(), 1):
                yield _line("tool_executor", f"step {number}: {step.get('tool')} {step.get('input')} ...")
        if node == "source_review" and update.get("status") == "synthesizing":
            yield _line("synthesizer", "writing from the evidence, checking every sentence ...")

    def _remember(self, update: Mapping[str, Any]) -> None:
        plan = update.get("plan")
        if isinstance(plan, Mapping):
            self._steps = {str(step.get("id")): step for step in plan.get("steps") or ()}

    def _outputs(self) -> Iterator[str]:
        """The results of steps since the last call: the search engine that answered, the pages read."""
        for number, (step_id, step) in enumerate(self._steps.items(), 1):
            if step.get("output") and step["output"] != self._told.get(step_id):
                self._told[step_id] = step["output"]
                yield _line("tool_executor", f"step {number}: {step['output']}")


def _line(node: str, text: str) -> str:
    return f"{NAMES.get(node, node):{_WIDTH}} {text}"


class ResearchView:
    """Shows a run of the research graph as lines."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._progress = ResearchProgress()

    def show(self, part: StreamPart) -> bool:
        some = False
        for node, update in _updates_in(part):
            for line in self._progress.lines(node, update):
                some = True
                self._say(line)
        return some

    def close(self) -> None:
        """Does nothing, because every line is shown at once."""


def _updates_in(part: StreamPart) -> list[tuple[str, Mapping[str, Any]]]:
    """The nodes and their updates; empty for other kinds of parts."""
    if part.mode != "updates" or part.namespace or not isinstance(part.data, Mapping):
        return []
    return [(node, update) for node, update in part.data.items() if isinstance(update, Mapping)]
