"""`RubricMiddleware`: when the agent wants to finish, its answer is checked, and it goes on if something is missing.

```
the agent's answer ─▶ checks (code) ─┬─ one fails ────────────────────────────────────┬─▶ told why, goes on working
                                     └─ all met ─▶ rubric? ─▶ model ─┬─ not satisfied ┘       (max_iterations checks at most)
                                                      │ no           └─ satisfied ─▶ done
                                                      └─▶ done
```
Every grader's outcome is stored as soon as it is there (`kept`), so no grader is asked twice about the same answer, even if the process
dies in between. History is never edited: what the agent is told is a message of its own, and the outcome is in `checks`, by the answer's
id.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware.types import AgentMiddleware, AgentState, OmitFromInput, PrivateStateAttr, hook_config
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.control_flow import let_pass
from stepwell.errors import ConfigurationError
from stepwell.middleware.own_words import is_own_answer
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.rubric.checks import Checks, read_checks
from stepwell.middleware.rubric.grader import ModelGrader
from stepwell.middleware.rubric.kept import akeep, keep
from stepwell.middleware.rubric.transcript import SOURCE
from stepwell.middleware.rubric.verdicts import (
    ENDED,
    Criterion,
    GraderResponse,
    RubricEvaluation,
    RubricResult,
    answer_in,
    in_words,
    what_is_missing,
)
from stepwell.middleware.side_questions import is_side_question
from stepwell.middleware.turns import feedback_id, turn_of
from stepwell.state.channels import incremental

_log = logging.getLogger(__name__)


def add_checks(
    state: Mapping[str, RubricEvaluation] | None, updates: Sequence[Mapping[str, RubricEvaluation]]
) -> dict[str, RubricEvaluation]:
    return {**(state or {}), **{key: value for update in updates for key, value in update.items()}}


def add_evaluations(
    state: Sequence[RubricEvaluation] | None, updates: Sequence[Sequence[RubricEvaluation]]
) -> list[RubricEvaluation]:
    return [*(state or ()), *(each for update in updates for each in update)]


class RubricState(AgentState[Any]):
    rubric: NotRequired[str]
    """What a model should judge in this thread's answers, as text. Replaces the middleware's own."""
    checks: NotRequired[Annotated[dict[str, RubricEvaluation], OmitFromInput, incremental(add_checks)]]
    """The evaluation of each answer, by the id of its message."""
    _rubric_status: NotRequired[Annotated[RubricResult | None, PrivateStateAttr]]
    _rubric_iterations: NotRequired[Annotated[int, PrivateStateAttr]]
    _rubric_evaluations: NotRequired[Annotated[list[RubricEvaluation], PrivateStateAttr, incremental(add_evaluations)]]
    _current_grading_run_id: NotRequired[Annotated[str, PrivateStateAttr]]
    _active_rubric: NotRequired[Annotated[str, PrivateStateAttr]]
    _rubric_turn: NotRequired[Annotated[str, PrivateStateAttr]]


@dataclass(frozen=True, slots=True)
class _Work:
    """Something that a grader has to do, in its two colours."""

    name: str
    do: Callable[[], dict[str, Any]]
    ado: Callable[[], Awaitable[dict[str, Any]]]


class RubricMiddleware(ModelGrader, AgentMiddleware[Any, Any, Any]):
    """Checks an agent's answer before the agent may finish.

    Args:
        checks: Graders that are code: functions of the agent's state, sync or async, in a list, or in a dict by name. A function returns
            nothing if all is well, or a text that says what is missing (`rubric.checks` lists everything that it may return).
        rubric: What a model should judge, as text. A `rubric` in the agent's input replaces it. Without either, no model is asked,
            unless a check returns `Undecided`.
        model: The model that judges; by default the agent's own.
        system_prompt: Replaces the instructions of the model that judges.
        tools: Tools with which the model that judges may look for evidence.
        max_iterations: How often the answer to one message of the user is checked at most. After that, the agent finishes, and
            `checks` says what is missing.
        on_evaluation: Is called with each evaluation. An error in it is logged and ignored.
    """

    state_schema = RubricState
    reaches_subagents = False

    def __init__(
        self,
        *,
        checks: Checks = (),
        rubric: str | None = None,
        model: str | BaseChatModel | None = None,
        system_prompt: str | None = None,
        tools: Sequence[BaseTool] | None = None,
        max_iterations: int = 3,
        on_evaluation: Callable[[RubricEvaluation], None] | None = None,
    ) -> None:
        super().__init__()
        _check_arguments(rubric, max_iterations)
        self.checks = read_checks(checks)
        self.rubric = rubric
        self.max_iterations = max_iterations
        self._model = model
        self._system_prompt = system_prompt or load_prompt("rubric")
        self._tools = list(tools or ())
        self._on_evaluation = on_evaluation

    def for_agent(self, model: BaseChatModel, around: Sequence[AgentMiddleware[Any, Any, Any]]) -> RubricMiddleware:
        """The same in an agent with this model, whose grader's calls go through this middleware, outermost first."""
        other = copy(self)
        other._model = self._model or model
        other._around, other._grader = tuple(around), None
        return other

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        rubric, turn = self._rubric_of(state), turn_of(state.get("messages") or ())
        if not rubric and not self.checks:
            return None
        goes_on = state.get("_active_rubric") == rubric and state.get("_rubric_status") not in ENDED
        if goes_on and state.get("_rubric_turn", turn) == turn:
            return None
        begun = {"_rubric_iterations": 0, "_rubric_status": None, "_current_grading_run_id": str(uuid.uuid4())}
        return {**begun, "_active_rubric": rubric, "_rubric_turn": turn}

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.before_agent(state, runtime)

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return run_steps(self._evaluate(state, runtime), lambda work: keep(work.name, work.do))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return await arun_steps(self._evaluate(state, runtime), lambda work: akeep(work.name, work.ado))

    def _rubric_of(self, state: Mapping[str, Any]) -> str:
        return str(state.get("rubric") or self.rubric or "")

    def _evaluate(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Steps[_Work, dict[str, Any] | None]:
        rubric, answer = self._rubric_of(state), answer_in(state.get("messages") or ())
        if (not rubric and not self.checks) or answer is None or is_own_answer(answer) or is_side_question():
            return None
        iteration = state.get("_rubric_iterations") or 0
        run_id = state.get("_current_grading_run_id") or str(uuid.uuid4())
        about = {"grading_run_id": run_id, "iteration": iteration, "message_id": answer.id or ""}
        _emit(runtime, {"type": "rubric_evaluation_start", **about})
        result, explanation, criteria, update = yield from self._grade_all(state, runtime, rubric, iteration)
        if result == "needs_revision" and iteration + 1 >= self.max_iterations:
            result = "max_iterations_reached"
            _log.info("RubricMiddleware exhausted max_iterations=%d (grading_run_id=%s)", self.max_iterations, run_id)
        evaluation = RubricEvaluation(
            grading_run_id=run_id,
            iteration=iteration,
            result=result,
            explanation=explanation,
            criteria=criteria,
            message_id=answer.id or "",
        )
        _emit(runtime, {"type": "rubric_evaluation_end", **evaluation})
        self._tell(evaluation)
        update = {
            **update,
            "checks": {evaluation["message_id"]: evaluation},
            "_rubric_evaluations": [evaluation],
            "_rubric_iterations": iteration + 1,
            "_rubric_status": result,
        }
        return {**update, "messages": [_feedback(evaluation)], "jump_to": "model"} if result == "needs_revision" else update

    def _grade_all(
        self, state: Mapping[str, Any], runtime: Runtime[Any], rubric: str, iteration: int
    ) -> Steps[_Work, tuple[RubricResult, str, list[Criterion], dict[str, Any]]]:
        """Code first. A model is asked only if code found nothing, and there is something that code cannot decide."""
        criteria: list[Criterion] = []
        questions: list[str] = []
        for check in self.checks:
            outcome = yield _Work(check.task_name, lambda each=check: each.ask(state), lambda each=check: each.aask(state))  # type: ignore[misc]  # bound now
            if question := outcome.get("undecided"):
                questions.append(f"- {outcome['name']}: {question}")
            else:
                criteria.append(cast("Criterion", outcome))
        missing = [each for each in criteria if not each["passed"] and not each.get("broken")]
        if missing:
            return "needs_revision", "", criteria, {}
        if any(each.get("broken") for each in criteria):
            return "grader_error", "A check broke.", criteria, {}
        asked = "\n".join(part for part in (rubric, *questions) if part)
        if not asked:
            return "satisfied", "", criteria, {}
        judged = yield self._judgement({**state, "rubric": asked}, runtime, iteration)
        if "error" in judged:
            return "grader_error", judged["error"], criteria, {}
        graded = GraderResponse.model_validate(judged["graded"])
        return graded.result, graded.explanation, [*criteria, *_criteria_of(graded)], judged["update"]

    def _judgement(self, state: Mapping[str, Any], runtime: Runtime[Any], iteration: int) -> _Work:
        def judge() -> dict[str, Any]:
            try:
                return self._judge(state, runtime, iteration)
            except Exception as error:
                return self._error(error)

        async def ajudge() -> dict[str, Any]:
            try:
                return await self._ajudge(state, runtime, iteration)
            except Exception as error:
                return self._error(error)

        return _Work("judge", judge, ajudge)

    def _error(self, error: Exception) -> dict[str, Any]:
        let_pass(error)
        said = self._what_broke(error)
        _log.warning("%s", said, exc_info=error)
        return {"error": said}

    def _tell(self, evaluation: RubricEvaluation) -> None:
        if self._on_evaluation is None:
            return
        try:
            self._on_evaluation(evaluation)
        except Exception:
            _log.exception("on_evaluation of RubricMiddleware failed and was ignored")


def _check_arguments(rubric: object, max_iterations: object) -> None:
    if not isinstance(max_iterations, int) or isinstance(max_iterations, bool) or max_iterations < 1:
        raise ConfigurationError(f"max_iterations is {max_iterations!r}. Give a whole number of at least 1.")
    if rubric is not None and not (isinstance(rubric, str) and rubric.strip()):
        raise ConfigurationError(f"rubric is {rubric!r}. Pass a text that says what the answer must have, or leave it out.")


def _criteria_of(graded: GraderResponse) -> list[Criterion]:
    """The criteria that a model judged; the rubric as one, if it named none."""
    if graded.criteria:
        return [cast("Criterion", {**each, "by": "model"}) for each in graded.criteria]
    if graded.result == "satisfied":
        return [Criterion(name="the rubric", passed=True, by="model")]
    return [Criterion(name="the rubric", passed=False, by="model", gap=graded.explanation)]


def _feedback(evaluation: RubricEvaluation) -> HumanMessage:
    """What the agent reads when it has to go on. Its id is the same if the step is executed again."""
    lines = ["[Your answer was checked before it goes to the user, and is not accepted yet. " + in_words(evaluation) + "]"]
    if evaluation["explanation"]:
        lines.append(evaluation["explanation"])
    if missing := what_is_missing(evaluation):
        lines.append("What is missing:\n" + "\n".join(f"- {line}" for line in missing))
    lines.append("Mend this, then give your whole answer again.")
    marks = {"lc_source": SOURCE}
    return HumanMessage("\n\n".join(lines), name=SOURCE, id=feedback_id(evaluation), additional_kwargs=marks)


def _emit(runtime: Any, event: dict[str, Any]) -> None:
    if (write := getattr(runtime, "stream_writer", None)) is not None:
        write(event)
