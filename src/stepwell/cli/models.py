"""`stepwell models`: the local models, downloaded or available."""

from __future__ import annotations

import sys
import threading
import time

from stepwell.cli.model_progress import show_progress
from stepwell.errors import StepwellError
from stepwell.models import CATALOGUE, DEFAULT_LOCAL_MODEL, process_local_models
from stepwell.models.local.catalogue import LocalModel
from stepwell.models.local.models import LocalModels
from stepwell.settings import Settings


def run(action: str, name: str | None) -> int:
    """Run the command and return its exit code."""
    models = process_local_models(Settings.load())
    if action == "list":
        return _list(models)
    stop = threading.Event()
    try:
        with show_progress(models.board, sys.stderr):
            outcome = _act(models, action, name or DEFAULT_LOCAL_MODEL, stop)
    except KeyboardInterrupt:
        stop.set()
        print(
            "Stopped. A download from a model hub resumes here the next time; one from a package starts over.",
            file=sys.stderr,
        )
        return 130
    except StepwellError as error:
        print(error, file=sys.stderr)
        return 2
    print(outcome)  # after the block, whose end finishes the progress bar's line
    return 0


def _list(models: LocalModels) -> int:
    print("Models that run inside Stepwell, without a server or a key:")
    for model in CATALOGUE.values():
        here = "on this machine" if models.is_downloaded(model.id) else f"{model.download_size} to download"
        print(f"{model.id:14} {model.title} ({model.licence}), {here}, from {model.source}")
        print(f"{'':14} {_abilities(model)} {model.cannot}")
    print(
        "Use one by default with `stepwell models use local:ID`, or once with --model local:ID (or --model local:/path/to/file.gguf)."
    )
    return 0


def _abilities(model: LocalModel) -> str:
    abilities = [word for word, has in (("tools", model.capabilities.tools), ("writing", model.capabilities.writes)) if has]
    return f"Fit for {' and '.join(abilities)}." if abilities else "Fit for trying things out only."


def _act(models: LocalModels, action: str, name: str, stop: threading.Event) -> str:
    """Carry out the action; returns a sentence about the outcome."""
    if action == "pull":
        models.pull(name, stop)
        return f"{name} is on this machine. Use it by default with: stepwell models use local:{name}"
    if action == "load":
        started = time.monotonic()
        models.load(name)
        seconds = time.monotonic() - started
        models.unload(name)
        return f"{name} is loaded and ready after {seconds:.1f} s."
    return f"{name} was removed." if models.remove(name) else f"{name} was not on this machine."
