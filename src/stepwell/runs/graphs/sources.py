"""Where a graph comes from: a file, a module, or an object in memory. This module only imports.

```
"./folder/file.py:name"   a file of the project, by its path relative to langgraph.json
"package.module:name"     anything that can be imported
```

`exports` determines what the imported object is, and how it becomes a graph. Importing may block for seconds: callers on an event loop use
a thread.

Rule to keep: a checkpoint names the module of every class in it. So the name under which a file is imported depends only on its path
within the project, is the same in every process, and does not change when the project's folder is moved.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import re
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any

from stepwell.errors import ConfigurationError, GraphBuildError, StepwellError

NODE_SUFFIXES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_log = logging.getLogger(__name__)
_FILE_MODULE = "stepwell_served_"
_IMPORTING = threading.RLock()
"""Held while a file is executed, so that another thread does not see a module that lacks its second half."""
_KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET|CREDENTIALS)\b")
"""Names of variables mentioned in providers' errors. Only the names are shown: a value beside them may be a secret."""


@dataclass(frozen=True)
class GraphSpec:
    """An entry of `graphs` in langgraph.json."""

    target: str
    description: str | None = None

    @classmethod
    def parse(cls, graph_id: str, entry: object) -> GraphSpec:
        """An entry as written: the target alone, or an object with `path` and optionally `description`."""
        if isinstance(entry, GraphSpec):
            return entry
        target, description = entry, None
        if isinstance(entry, Mapping):
            target, description = entry.get("path"), entry.get("description")
        if not isinstance(target, str) or not isinstance(description, str | None):
            raise ConfigurationError(
                f"The entry of the graph '{graph_id}' cannot be read. "
                'Write "./file.py:name", "package.module:name", or {"path": "./file.py:name", "description": "..."}.'
            )
        place, _, name = target.rpartition(":")
        if not place or not name.isidentifier():
            raise ConfigurationError(
                f"The entry of the graph '{graph_id}' does not name a file and an object in it. "
                'Write it with a colon, as in "./file.py:graph" or "package.module:graph".'
            )
        return cls(target, description)

    @property
    def place(self) -> str:
        return self.target.rpartition(":")[0]

    @property
    def name(self) -> str:
        return self.target.rpartition(":")[2]

    @property
    def is_file(self) -> bool:
        return self.place.endswith(".py") or "/" in self.place or "\\" in self.place

    @property
    def shown(self) -> str:
        """The source as messages show it: the file's name without its folder (which may be a folder of the host), or the module."""
        place = re.split(r"[/\\]", self.place)[-1] if self.is_file else self.place
        return f"{place}:{self.name}"


@dataclass(frozen=True)
class GraphSource:
    """A graph's export, loaded when first needed. `load` may block; its errors say what is wrong."""

    load: Callable[[], object]
    shown: str
    description: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What its default assistant says about it; `demo` is true for a demo."""

    @classmethod
    def of(cls, export: object, description: str | None = None) -> GraphSource:
        """An export in memory: a graph, or a function that makes one."""
        return cls(lambda: export, f"a {type(export).__name__} in memory", description)

    @classmethod
    def from_spec(cls, graph_id: str, spec: GraphSpec, base: Path, metadata: Mapping[str, Any] | None = None) -> GraphSource:
        return cls(lambda: _load(graph_id, spec, base), spec.shown, spec.description, metadata or {})


def load_export(subject: str, spec: GraphSpec, base: Path) -> object:
    """The object that another key of a langgraph.json names (`./file.py:name`). `subject` is the key, as messages name it."""
    importlib.invalidate_caches()
    try:
        module = _import_file(base, spec.place) if spec.is_file else importlib.import_module(spec.place)
    except FileNotFoundError as error:
        if error.filename != spec.place:
            raise ConfigurationError(f"{subject}: importing '{_file_name(spec)}' failed with FileNotFoundError.") from error
        raise ConfigurationError(
            f"{subject} names the file '{_file_name(spec)}', which does not exist. Paths start at the folder of langgraph.json."
        ) from error
    except (Exception, SystemExit) as error:  # anything a user's file raises, even to end the program
        failed = f"{subject} cannot be loaded: importing '{_file_name(spec)}' failed"
        raise ConfigurationError(f"{failed} with {describe_error(error, failed)}") from error
    if not hasattr(module, spec.name):
        raise ConfigurationError(
            f"{subject} names '{spec.name}' in '{_file_name(spec)}', but nothing there has that name. Correct the part after the colon."
        )
    return getattr(module, spec.name)


def _load(graph_id: str, spec: GraphSpec, base: Path) -> object:
    if spec.place.endswith(NODE_SUFFIXES):
        raise GraphBuildError(
            f"The graph '{graph_id}' is written in JavaScript or TypeScript; only Python graphs can be served here. "
            f"Remove it from 'graphs', or serve it with a server that runs Node."
        )
    return load_named(f"The graph '{graph_id}'", "graphs", spec, base)


def load_named(subject: str, key: str, spec: GraphSpec, base: Path) -> object:
    """The object that an entry of langgraph.json names. `subject` begins the sentence about what is wrong with it, and `key` is where it is
    written."""
    importlib.invalidate_caches()  # a file may have been added since an earlier try
    try:
        module = _import_file(base, spec.place) if spec.is_file else importlib.import_module(spec.place)
    except FileNotFoundError as error:
        if error.filename != spec.place:
            raise _not_importable(subject, spec, error) from error
        raise GraphBuildError(
            f"{subject} names the file '{_file_name(spec)}', which does not exist. Paths start at the folder of langgraph.json."
        ) from error
    except (Exception, SystemExit) as error:  # anything a user's file raises, even to end the program
        raise _not_importable(subject, spec, error) from error
    if not hasattr(module, spec.name):
        raise GraphBuildError(
            f"{subject} should be '{spec.name}' in '{_file_name(spec)}', but nothing there has that name. "
            f"Correct the part after the colon in '{key}', or define '{spec.name}'."
        )
    return getattr(module, spec.name)


def _file_name(spec: GraphSpec) -> str:
    return spec.shown.rpartition(":")[0]


def _not_importable(subject: str, spec: GraphSpec, error: BaseException) -> GraphBuildError:
    subject = f"{subject} cannot be loaded: importing '{_file_name(spec)}' failed"
    joint = ": " if isinstance(error, StepwellError) else " with "
    return GraphBuildError(f"{subject}{joint}{describe_error(error, subject)}")


def describe_error(error: BaseException, subject: str) -> str:
    """An error as half a sentence. The text of our own errors is repeated unchanged. The text of other errors is not repeated, because it
    may contain a path or a secret.

    Details that the sentence leaves out are written to the log, under `subject`.
    """
    kind = type(error).__name__
    if isinstance(error, StepwellError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        if package := _installed_package_of(error.name):
            return (
                f"{kind}: the installed {package} has no module '{error.name}'. It was renamed or removed, or comes with another version: "
                "correct the import, or install the version that the project was written for."
            )
        return (
            f"{kind}: '{error.name}' is not installed. Install it; if it is the project's own, install the project "
            "(pip install -e .), or name its folder in 'dependencies'."
        )
    if isinstance(error, ImportError) and error.name:
        return f"{kind}: a name imported from '{error.name}' does not exist there."
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{kind} in line {error.lineno} of '{Path(error.filename or '').name}'."
    _log.warning("%s", subject, exc_info=error)
    if wanted := sorted(set(_KEY_VARIABLE.findall(str(error)))):
        return f"{kind}. It mentions {' and '.join(wanted[:3])}: set what is missing, in the environment or in .env, and start again."
    return f"{kind}. The log has the whole error."


def _installed_package_of(module: str) -> str | None:
    """`langchain 1.4.7` for `langchain.agents.react` if langchain is installed; None if it is not, or for a top-level module."""
    top, dot, _ = module.partition(".")
    if not dot or importlib.util.find_spec(top) is None:
        return None
    names = packages_distributions().get(top, [])
    return f"{names[0]} {version(names[0])}" if names else top


def _import_file(base: Path, place: str) -> ModuleType:
    path = (base / place).resolve()
    if not path.is_file():
        raise FileNotFoundError(2, "no such file", place)
    dotted = _name_in_package(path)
    if dotted and _spec_origin(dotted) == path:
        return importlib.import_module(dotted)
    with _IMPORTING:
        name = _module_name(base.resolve(), path)
        return sys.modules.get(name) or _execute(name, path)


def _name_in_package(path: Path) -> str | None:
    """The dotted name of a file inside a package. With it, the file's relative imports work and its classes exist only once."""
    parts = [path.stem] if path.stem != "__init__" else []
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts) if len(parts) > 1 or path.stem == "__init__" else None


def _spec_origin(dotted: str) -> Path | None:
    """The file that importing this name would load. This imports the module's parents."""
    if not dotted:
        return None
    top = importlib.util.find_spec(dotted.partition(".")[0])
    found = importlib.util.find_spec(dotted) if top else None
    return Path(found.origin).resolve() if found and found.origin else None


def _module_name(base: Path, path: Path) -> str:
    inside = path.relative_to(base) if path.is_relative_to(base) else Path(path.name)
    name = _FILE_MODULE + re.sub(r"\W", "_", inside.with_suffix("").as_posix())
    taken = sys.modules.get(name)
    if taken is None or _file_of(taken) == path:
        return name
    # Two projects in one process each have a file of this name, so the second can't have the stable name.
    return f"{name}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"


def _file_of(module: ModuleType) -> Path | None:
    return Path(module.__file__).resolve() if module.__file__ else None


def _execute(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Registered before it is executed, because dataclasses and type hints look up their module while it is being created.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
