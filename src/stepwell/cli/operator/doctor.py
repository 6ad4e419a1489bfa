"""`stepwell doctor`: which model would be used and why, what the other providers need, what is installed here, the server's state."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from stepwell.cli.operator.server_condition import server_lines
from stepwell.errors import StepwellError
from stepwell.models import CATALOGUE, LocalModels, choose_model, resolve_model
from stepwell.models.choice import ModelChoice
from stepwell.models.providers import LOCAL, PROVIDERS
from stepwell.settings import PROVIDER_VARIABLES, Settings
from stepwell.terminal.own_command import spell_command


def run() -> int:
    """Run the command; returns 0 if a model can be used, 1 if not."""
    settings = Settings.load()
    print(f"stepwell {version('stepwell')}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    usable = _print_choice(settings)
    print("\nProviders")
    for line in _providers(settings):
        print(f"  {line}")
    print("\nThis machine")
    for line in _machine(settings):
        print(f"  {line}")
    print("\nThe server")
    for line in server_lines(settings):
        print(f"  {line}")
    return 0 if usable else 1


def _print_choice(settings: Settings) -> bool:
    """Print which model is used, and check that it can be built."""
    try:
        choice = choose_model(None, settings, embedded_fallback=True)
        resolve_model(str(choice), settings=settings)  # reads names and keys; loads no model and sends no request
    except StepwellError as error:
        print(f"Model: none. {error}")
        return False
    print(f"Model: {choice} ({choice.reason})")
    if warning := warning_about(choice, settings):
        print(f"       {warning}")
    return True


def warning_about(choice: ModelChoice, settings: Settings) -> str | None:
    """What the chosen model is known to lack: an ability or a key."""
    if choice.provider == LOCAL:
        model = CATALOGUE.get(choice.name)
        return model.cannot if model else None
    keys, _ = PROVIDER_VARIABLES.get(choice.provider, ((), ()))
    if keys and choice.provider not in settings.access:
        return f"{keys[0]} is not set, so the provider will reject requests. Set it in the environment or in .env."
    return None


def _providers(settings: Settings) -> Iterator[str]:
    for name, (variables, _) in PROVIDER_VARIABLES.items():
        access = settings.access.get(name)
        key = f"{access.variable} is set" if access else f"{variables[0]} is not set"
        yield f"{name:14} {key}; {_package(name)}"
    ollama = settings.ollama_model_name
    yield f"{'ollama':14} {f'model {ollama}' if ollama else 'OLLAMA_MODEL_NAME is not set'}; {_package('ollama')}"
    studio = settings.lm_studio_model_name
    yield f"{'lm-studio':14} {f'model {studio}' if studio else 'LM_STUDIO_MODEL_NAME is not set'}; {_package('lm-studio')}"


def _package(provider: str) -> str:
    known = PROVIDERS[provider]
    if importlib.util.find_spec(known.package):
        return f"{known.package} is installed"
    package = f"'stepwell[{known.extra}]'" if known.extra else known.package.replace("_", "-")
    return f"missing: pip install {package}"


def _machine(settings: Settings) -> Iterator[str]:
    yield _local_runtime()
    models = LocalModels.from_settings(settings)
    here = [model.id for model in CATALOGUE.values() if models.is_downloaded(model.id)]
    none = f"none downloaded ({spell_command('models list')})"
    yield f"local models   {', '.join(here) or none}"
    yield f"data folder    {settings.data_folder}, {_room(settings.data_folder)}"
    yield _embeddings(settings)
    yield _shell()
    yield f"evidence key   {describe_evidence_key(settings)}"


def _local_runtime() -> str:
    if importlib.util.find_spec("xllamacpp"):
        return f"llama.cpp      xllamacpp {version('xllamacpp')}"
    return "llama.cpp      missing: pip install 'stepwell[local]'"


def _room(folder: Path) -> str:
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not place.is_dir() or not _is_writable(place):
        return "not writable: choose another with STEPWELL_DATA_DIR"
    return f"{shutil.disk_usage(place).free / 1e9:,.0f} GB free"


def _is_writable(folder: Path) -> bool:
    """Tries to write an unnamed file, because permission bits always allow a superuser to write, even on a read-only disk."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _embeddings(settings: Settings) -> str:
    from stepwell.models.embedding.embedder import choose_embedder

    return f"embeddings     {choose_embedder(settings).describe()}"


def describe_evidence_key(settings: Settings) -> str:
    """The public key of this installation's signatures. Others pass it to `stepwell verify --key`."""
    from stepwell.research.audit.signing import SigningKey
    from stepwell.terminal.database_place import PostgresPlace, database_place

    key = SigningKey(settings.data_folder, settings.signing_key_file)
    try:
        database = database_place(None, settings)
        if isinstance(database, PostgresPlace) and not key.is_chosen:
            from stepwell.research.installation_key import kept_key

            return kept_key(database.url.reveal()) or "none yet; created when the first bundle is signed"
        public = key.public_key()
    except StepwellError as error:
        return str(error)
    if public is None:
        return "none yet; created when the first bundle is signed"
    return public if key.is_private() else f"{public}\n                 others can read {key.file}: chmod 600 it"


def _shell() -> str:
    if sys.platform != "linux":
        return "execute        the sandboxed shell needs Linux"
    if shutil.which("bwrap"):
        return "execute        bubblewrap is installed; the sandbox is tested on first use"
    return "execute        missing: bubblewrap (Debian: apt-get install bubblewrap)"
