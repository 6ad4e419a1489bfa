"""A research as a person sees it: progress, the gate, the report. It knows a session and a terminal, and not where the graph is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from stepwell.cli.dialogue.answers import OpenInterrupt
from stepwell.cli.dialogue.terminal import Terminal
from stepwell.cli.research.gate import Gate
from stepwell.cli.research.progress import ResearchProgress
from stepwell.cli.research.session import ResearchSession, Update

RETRY = "search_retry"
"""The question of a research that could not ask anybody."""


class Dialogue:
    """Drives one thread to its end. The report goes to `output`; `carry_on` is the command that goes on with the thread later."""

    def __init__(
        self, runner: asyncio.Runner, terminal: Terminal, gate: Gate, session: ResearchSession, output: Terminal, carry_on: str
    ) -> None:
        self._runner = runner
        self._terminal = terminal
        self._gate = gate
        self._session = session
        self._output = output
        self._carry_on = carry_on
        self._progress = ResearchProgress()

    def run(self, events: AsyncIterator[Update], *, carries_on: bool = False) -> int:
        """Follow, ask, go on; gives the exit code. Whoever carries on with a research that could not ask anybody wants it tried again."""
        try:
            self._show(events)
            while questions := self._runner.run(self._session.questions()):
                outage = next((question for question in questions if question.value.get("type") == RETRY), None)
                if outage is not None and not carries_on:
                    return self._unreached(outage)
                if outage is not None:
                    carries_on = False
                    self._show(self._session.answer({outage.id: {"decision": "approve"}}))
                    continue
                answers = {question.id: self._gate.answer(question.value) for question in questions}
                self._show(self._session.answer(answers))
        except KeyboardInterrupt:
            self._runner.run(self._session.stop())
            self._terminal.line(f"\nStopped. What was done is kept; go on with:\n  {self._carry_on}")
            return 130
        except EOFError:
            self._terminal.line(
                f"The research waits for an answer, and nobody is there to give one. Go on with:\n  {self._carry_on}"
            )
            return 1
        return self._finish()

    def _unreached(self, outage: OpenInterrupt) -> int:
        self._terminal.line(f"No report: {outage.value.get('message')}\nTry again with:\n  {self._carry_on}")
        return 1

    def _show(self, events: AsyncIterator[Update]) -> None:
        async def show() -> None:
            async for node, update in events:
                for line in self._progress.lines(node, update):
                    self._terminal.line(line)

        self._runner.run(show())

    def _finish(self) -> int:
        values = self._runner.run(self._session.values())
        if values.get("status") != "complete":
            self._terminal.line(f"No report: {values.get('error_message') or 'the research did not end.'}")
            return 1
        self._terminal.line()
        self._output.line(str(values.get("final_report") or ""))
        return 0
