"""Products of somebody else, really installed: a package with its entry point, in a folder that is put on Python's path.

```python
folder = write_product(tmp_path, "notes", ["CREATE TABLE notes (thread_id TEXT, text TEXT);"])
with installed(folder): ...                                       # in this process
subprocess.run(..., env={"PYTHONPATH": str(folder)})              # in another
```
"""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from stepwell.database.tables import installed_tables
from stepwell.products import installed_products

_TABLES = """
from stepwell.database.tables import Kept, ProductTables
from stepwell.products import Product

TABLES = ProductTables({name!r}, "{package}.schema", {rest})
PRODUCT = Product({name!r}, tables="{package}:TABLES")
"""

_NUMBERS = count(1)


def write_product(
    folder: Path, name: str, steps: Sequence[str], *, postgres: Sequence[str] | None = None, rest: str = ""
) -> Path:
    """Write a package whose product brings these tables; the same SQL for both databases, unless `postgres` says otherwise. `rest`: further
    arguments of its `ProductTables`. Returns the folder for the path. Each call writes another package, so that one version of
    a product may follow another in one process."""
    package = f"{name}_{next(_NUMBERS)}"
    root = folder / f"{package}-installed"
    for engine, files in (("sqlite", steps), ("postgres", steps if postgres is None else postgres)):
        schema = root / package / "schema" / engine
        schema.mkdir(parents=True)
        for number, sql in enumerate(files, 1):
            (schema / f"{number:04}_step.sql").write_text(sql)
    (root / package / "__init__.py").write_text(_TABLES.format(name=name, package=package, rest=rest))
    described = root / f"{package}-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[stepwell.products]\n{name} = {package}:PRODUCT\n")
    return root


def write_distribution(package: Path, pyproject: str) -> Path:
    """Describe a package as pip would after installing it, from its pyproject.toml. Returns the folder for the path."""
    project = tomllib.loads(pyproject)["project"]
    described = package.parent / f"{package.name}-{project['version']}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [f"{name} = {place}" for name, place in project["entry-points"]["stepwell.products"].items()]
    (described / "entry_points.txt").write_text("\n".join(["[stepwell.products]", *lines]))
    return package.parent


def module_of(folder: Path) -> Path:
    """The file that describes the product in a folder, for tests that change it."""
    return next(folder.glob("*/__init__.py"))


@contextmanager
def installed(*folders: Path) -> Iterator[None]:
    """While inside, the products in these folders are installed in this process too."""
    known = set(sys.modules)
    sys.path[:0] = [str(folder) for folder in folders]
    _look_again()
    try:
        yield
    finally:
        for folder in folders:
            sys.path.remove(str(folder))
        for name in set(sys.modules) - known:
            if any(str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)) for folder in folders):
                del sys.modules[name]
        _look_again()


def _look_again() -> None:
    importlib.invalidate_caches()
    installed_products.cache_clear()
    installed_tables.cache_clear()
