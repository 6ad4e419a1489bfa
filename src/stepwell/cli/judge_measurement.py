"""`stepwell models judge`: measures how well a model judges, and stores the figures for the reports that it judges.

```
sets -> draw -> (SpendLog counts) ask, answers kept in the data folder -> table -> figures in the database
```
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from stepwell.cli.connected_models import find_target
from stepwell.cli.model_store import ModelStore
from stepwell.clock import SystemClock
from stepwell.connections.spend import SpendLog
from stepwell.errors import ModelUnavailableError, StepwellError, needs_extra
from stepwell.models.choice import choose_model, connected_choice, model_from_environment
from stepwell.models.connected import ConnectedModel, RunModels, using
from stepwell.models.resolve import build_model
from stepwell.server.login.principal import LOCAL as LOCAL_USER
from stepwell.settings import Settings
from stepwell.terminal.database_file import with_database
from stepwell.terminal.own_command import spell_command

if TYPE_CHECKING:
    from stepwell.database.database import SqlDatabase
    from stepwell.models.usage import UsageSum
    from stepwell.research.judges.asking import JudgeMeasurement, Samples
    from stepwell.research.judges.pairs import Half

FOLDER = "judges"
"""Where answers are kept, in the data folder."""
INTERRUPTED = 130
_RESUME = "Its answers are kept: run the same command again to ask only for the missing ones."


def run(
    folder: Path,
    *,
    model: str | None = None,
    claims: int = 200,
    half: Half = "all",
    seed: int = 1,
    database_url: str | None = None,
    settings: Settings | None = None,
) -> int:
    """Measure a model on the sets of a folder, print the table and store the figures. Returns the exit code."""
    with needs_extra("Measuring a judge", "research"):
        from stepwell.research.judges.pairs import draw, find_sets, read_pairs
    settings = settings or Settings.load()
    samples = {name: draw(read_pairs(file, half), claims, seed) for name, file in find_sets(folder).items()}
    store = ModelStore.open(database_url, settings)
    chosen = _find_judge(model, settings, store)
    try:
        with _without_callback_errors():
            return with_database(store.place, lambda database: _measure(database, chosen, samples, settings))
    except KeyboardInterrupt:
        print(f"\nStopped. {_RESUME}", file=sys.stderr)
        return INTERRUPTED
    except StepwellError as error:
        print(f"\n{error}\nThe measurement is not complete. {_RESUME}", file=sys.stderr)
        return 1


def _find_judge(name: str | None, settings: Settings, store: ModelStore) -> ConnectedModel:
    """The named model, or the one that judges on this machine's server."""
    if name := name or settings.task_models.get("audit"):
        return find_target(str(choose_model(name, settings)), settings, store)
    if stored := store.chosen("judge"):
        return stored
    if model_from_environment(settings) is None and store.default() is None:
        raise ModelUnavailableError(
            f"No model is connected that could judge. Connect one with: {spell_command('models use PROVIDER')}"
        )
    return find_target(None, settings, store)


@contextmanager
def _without_callback_errors() -> Iterator[None]:
    """LangChain logs a limit that refuses a call, once for each call; the user reads it once, at the end."""
    log = logging.getLogger("langchain_core.callbacks.manager")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


async def _measure(database: SqlDatabase, chosen: ConnectedModel, samples: Samples, settings: Settings) -> int:
    from stepwell.research.audit.judged import JudgedBy
    from stepwell.research.judges.asking import JudgeMeasurement
    from stepwell.research.judges.figures import put_figures
    from stepwell.research.judges.scoring import judge_pairs, make_figures, table

    with using(RunModels(chosen, explicit=True, user=LOCAL_USER.owner, watch=SpendLog(database, SystemClock()))):
        measurement = JudgeMeasurement(build_model(connected_choice(chosen), settings), settings.data_folder / FOLDER)
        print(_plan(measurement, samples), flush=True)
        answers = await measurement.ask(samples, _progress(sys.stderr))
    judged = {name: await judge_pairs(sample, answers.of[name]) for name, sample in samples.items()}
    print(f"{_spent(answers.used)}\n\n{table(judged)}\n")
    figures = make_figures(judged, datetime.now(UTC).date())
    if figures is None:
        print("Nothing was stored: the sets need claims that are true and claims that are false.")
        return 0
    await database.write(lambda connection: put_figures(connection, measurement.label, figures))
    print(JudgedBy(measurement.label, figures).describe())
    return 0


def _plan(measurement: JudgeMeasurement, samples: Samples) -> str:
    from stepwell.research.judges.asking import estimate

    tokens, cost_usd = estimate(measurement.label, samples)
    cost = "at an unknown price" if cost_usd is None else f"about ${cost_usd:.2f}" if cost_usd >= 0.01 else "less than $0.01"
    sizes = ", ".join(f"{len(sample)} of {name}" for name, sample in samples.items())
    return f"{measurement.label} judges {sizes}: about {tokens:,} tokens, {cost}, less what it has answered before."


def _spent(used: UsageSum) -> str:
    if not used.calls:
        return "Every answer was kept from before: nothing was asked."
    cost = "at an unknown price" if used.cost_usd is None else f"${used.cost_usd:.4f}"
    guessed = f" ({used.estimated} calls reported no tokens; theirs are estimated)" if used.estimated else ""
    return f"Asked in this run: {used.calls:,} calls, {used.tokens.total:,} tokens, {cost}{guessed}."


def _progress(screen: TextIO) -> Callable[[int, int], None]:
    """Shows how many claims are done: on one line in a terminal, elsewhere a line for every tenth."""
    live, told = screen.isatty(), 0

    def show(done: int, of: int) -> None:
        nonlocal told
        if live:
            print(f"\r{done:,} of {of:,} claims", end="\n" if done == of else "", file=screen, flush=True)
        elif done * 10 // of > told:
            told = done * 10 // of
            print(f"{done:,} of {of:,} claims", file=screen, flush=True)

    return show
