"""Evaluate agents on the model that is configured: `python evals/run.py [--model provider:name] [--times 3] [--only planning]`.

Writes `docs/evaluation.md` when every task was tried. Without a capable model it says so and does nothing. It costs what the model
costs: at most the tasks' ceilings, which are printed first. Exit status 0 means that it was evaluated, or that there was nothing to
evaluate; not that every task passed.

With `--judge FOLDER [--claims 200] [--half odd] [--seed 1]` it measures the model as a judge instead, on pairs of claim and evidence.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    # The folder of this script is no place to import from: it would hide modules of the same name.
    sys.path[0] = str(ROOT)

from evals.capable import Candidate, find_candidate, refusal  # noqa: E402 -- importable only after the line above
from evals.report import Facts, Results, line, page, write_page  # noqa: E402
from evals.task import Task  # noqa: E402
from evals.tasks import TASKS  # noqa: E402
from evals.trial import Trial, run_trial  # noqa: E402
from stepwell.cli import judge_measurement  # noqa: E402
from stepwell.cli.arguments import add_judge_options  # noqa: E402
from stepwell.errors import ConfigurationError, StepwellError  # noqa: E402
from stepwell.models.choice import ModelChoice  # noqa: E402
from stepwell.models.resolve import build_model  # noqa: E402
from stepwell.settings import Settings  # noqa: E402

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Build = Callable[[ModelChoice, Settings], "BaseChatModel"]
INTERRUPTED = 130


def main(
    arguments: Sequence[str] | None = None,
    *,
    settings: Settings | None = None,
    build: Build = build_model,
    tasks: Sequence[Task] = TASKS,
    target: Path = ROOT / "docs" / "evaluation.md",
) -> int:
    options = _options(arguments, [task.name for task in tasks])
    if options.judge:
        return _measure_judge(options, settings)
    settings = settings if settings is not None else Settings.load()
    try:
        candidate = find_candidate(options.model, settings)
        if candidate.lacks:
            print(refusal(candidate))
            return 0
        model = build(candidate.choice, settings)
    except ConfigurationError as error:
        print(f"Nothing is evaluated: {error}")
        return 2 if options.model else 0
    chosen = [task for task in tasks if not options.only or task.name in options.only]
    print(_plan(chosen, candidate, options.times), flush=True)
    return _evaluated(model, chosen, candidate, options, target)


def _evaluated(
    model: BaseChatModel, tasks: Sequence[Task], candidate: Candidate, options: argparse.Namespace, target: Path
) -> int:
    try:
        results = asyncio.run(evaluate(model, tasks, options.times))
    except KeyboardInterrupt:
        print("Interrupted: no page was written.")
        return INTERRUPTED
    except StepwellError as error:
        print(f"The evaluation stopped, and no page was written: {error}")
        return 1
    if options.only:
        print("Only some tasks were tried: no page was written.")
        return 0
    facts = Facts(candidate.title, datetime.now(UTC).date(), options.times, version("stepwell"))
    write_page(page(results, facts), target)
    print(f"Written: {target.parent.name}/{target.name}")
    return 0


async def evaluate(
    model: BaseChatModel, tasks: Sequence[Task], times: int, tell: Callable[[str], None] = lambda text: print(text, flush=True)
) -> Results:
    """Every task so many times, one trial after the other: providers limit how much may be asked at once."""
    results: list[tuple[Task, list[Trial]]] = []
    for task in tasks:
        trials = []
        for _ in range(times):
            trials.append(await run_trial(task, model))
            tell(f"  {task.name}: {'passed' if trials[-1].passed else '; '.join(trials[-1].faults)}")
        results.append((task, trials))
        name, _, passed, calls, tokens, seconds = line(task, trials)
        tell(f"{name}: {passed} passed; median {calls} model calls, {tokens} tokens, {seconds} s")
    return results


def _measure_judge(options: argparse.Namespace, settings: Settings | None) -> int:
    """The same as `stepwell models judge`."""
    try:
        return judge_measurement.run(
            options.judge, model=options.model, claims=options.claims, half=options.half, seed=options.seed, settings=settings
        )
    except StepwellError as error:
        print(error, file=sys.stderr)
        return 2


def _plan(tasks: Sequence[Task], candidate: Candidate, times: int) -> str:
    most = times * sum(task.ceiling.tokens for task in tasks)
    return f"{candidate.title} ({candidate.choice.reason}): {len(tasks)} tasks, {times} times each, {most:,} tokens at the very most."


def _options(arguments: Sequence[str] | None, names: Sequence[str]) -> argparse.Namespace:
    def only(text: str) -> tuple[str, ...]:
        asked = tuple(text.split(","))
        if unknown := [name for name in asked if name not in names]:
            raise argparse.ArgumentTypeError(f"no task {', '.join(unknown)}; there are {', '.join(names)}")
        return asked

    parser = argparse.ArgumentParser(description="Evaluate agents of this harness on real tasks with the model you have.")
    parser.add_argument(
        "--judge",
        metavar="FOLDER",
        type=Path,
        help="measure the model as a judge on these sets instead, like `stepwell models judge`",
    )
    add_judge_options(parser)
    parser.add_argument("--times", type=_times, default=3, help="trials of each task (3)")
    parser.add_argument("--only", type=only, metavar="A,B", help=f"some of: {', '.join(names)}; writes no page")
    return parser.parse_args(arguments)


def _times(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of trials; give 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
