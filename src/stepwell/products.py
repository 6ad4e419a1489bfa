"""Products: what is built on the platform. Each describes itself once, and the platform collects the descriptions through the entry point
group `stepwell.products`, so that other people's packages can bring products too.

```
pyproject.toml  [project.entry-points."stepwell.products"]  name = "package.product:PRODUCT"
PRODUCT ─┬─ graphs, demos ─> the server's graphs          (`cli.compose`)
         ├─ tables ────────> the database                 (`database.tables.ProductTables`)
         ├─ service ───────> open while a server runs     (`server.parts.ProductService`: gate, response hook)
         ├─ routes ────────> the server's routes          (a sequence of FastAPI routers)
         ├─ served_tools ──> tools of the MCP server      (a sequence of `server.served_tools.ServedTool`)
         ├─ commands ──────> `stepwell NAME`              (`terminal.commands`: a function that adds parsers)
         └─ chats ─────────> `stepwell chat NAME`         (`cli.chat`)
```
A description names places (`module:attribute`, as in langgraph.json) and does not import them, so `stepwell --help` loads no graph and
no web framework. How to write a product: docs/how-to/write-a-product.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, Literal

from stepwell.errors import ConfigurationError

GROUP = "stepwell.products"
_OURS = "stepwell."


@dataclass(frozen=True)
class Demo:
    """A graph that needs no model, key or network."""

    place: str
    description: str
    question: str = ""
    """What a visitor who writes nothing asks it."""
    follow_ups: Sequence[str] = ()
    """What it can be asked next. Clients suggest these and no others, because a script has no answer to anything else."""
    needs: Collection[str] = ()
    """The modules that the demo needs. If one is missing, the demo is not offered."""

    @property
    def available(self) -> bool:
        return all(find_spec(module) for module in self.needs)

    @property
    def metadata(self) -> dict[str, Any]:
        """What its assistant says about it."""
        return {"demo": True, "question": self.question, "follow_ups": list(self.follow_ups)}


@dataclass(frozen=True)
class ChatApp:
    """An agent for `stepwell chat NAME`. It works on files in a folder of the user."""

    place: str
    """The place of a function that runs the chat in this process and returns an exit code. It gets `terminal.chat.options.ChatOptions`."""
    graph: str
    """The name of its graph on a server."""
    description: str
    """What it does; begins with a verb."""
    slash_commands: Collection[str] = ()
    """The slash commands that the agent itself handles."""


@dataclass(frozen=True)
class Product:
    """What a product brings. Everything but the name is optional."""

    name: str
    """The name of its entry point."""
    last: bool = False
    """Its graphs are listed after all others."""
    graphs: Mapping[str, str] = field(default_factory=dict)
    """Graph name -> the place of the function that builds it."""
    payable: Collection[str] = ()
    """Which of its graphs charge for model calls, if the operator has set a price."""
    demos: Mapping[str, Demo] = field(default_factory=dict)
    tables: str | None = None
    """The place of its `ProductTables`."""
    service: str | None = None
    """The place of a function that gets the settings and returns an `OpenProduct`, which opens the `ProductService`."""
    routes: str | None = None
    """The place of its routers."""
    served_tools: str | None = None
    """The place of its tools for other programs, over MCP."""
    commands: str | None = None
    """The place of a function that adds its commands to the command line."""
    chats: Mapping[str, ChatApp] = field(default_factory=dict)


def load_place(place: str) -> Any:
    """The object that a place names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def load_part(product: Product, part: Literal["tables", "service", "routes", "served_tools", "commands"]) -> Any:
    """The object that a product names as this part; None if it names none.

    Raises:
        ConfigurationError: The object cannot be loaded.
    """
    place = getattr(product, part)
    try:
        return None if place is None else load_place(place)
    except Exception as error:
        raise ConfigurationError(
            f"The {part} of the product '{product.name}' cannot be loaded: {type(error).__name__}: {error}. Repair or uninstall "
            "its package."
        ) from error


@cache
def installed_products() -> tuple[Product, ...]:
    """All installed products, sorted by name: ours first, and those with `last` at the end.

    Raises:
        ConfigurationError: A product cannot be loaded, two have the same name, graph or chat, or our own products are missing.
    """
    found = sorted(entry_points(group=GROUP), key=lambda entry: (not entry.value.startswith(_OURS), entry.name))
    if not found or not found[0].value.startswith(_OURS):
        raise ConfigurationError(
            "Stepwell's own products are not installed: this environment has an older version of its package, or none. Install it again, "
            "for instance with `pip install -e .` in its folder."
        )
    return check_products(tuple(sorted((_load(entry) for entry in found), key=lambda product: product.last)))


def payable_graphs() -> tuple[str, ...]:
    """The graphs of installed products that charge for their model calls if the operator has set a price."""
    return tuple(graph for product in installed_products() for graph in product.payable)


def others_graphs() -> tuple[str, ...]:
    """The graphs of installed products that are not Stepwell's own."""
    return tuple(
        name for product in installed_products() for name, place in product.graphs.items() if not place.startswith(_OURS)
    )


def check_products(products: tuple[Product, ...]) -> tuple[Product, ...]:
    """Return the products unchanged. Refuses two products with the same name, graph, demo or chat."""
    known: dict[str, str] = {}
    for product in products:
        graphs = (f"graph '{graph}'" for graph in (*product.graphs, *product.demos))
        for what in (f"the name '{product.name}'", *graphs, *(f"chat '{chat}'" for chat in product.chats)):
            if what in known:
                raise ConfigurationError(
                    f"The products '{known[what]}' and '{product.name}' both bring {what}. Uninstall one of them."
                )
            known[what] = product.name
    return products


def _load(entry: EntryPoint) -> Product:
    try:
        product = entry.load()
    except Exception as error:
        raise ConfigurationError(
            f"{_whose(entry)} cannot be loaded: {type(error).__name__}: {error}. Repair or uninstall the package."
        ) from error
    if not isinstance(product, Product) or product.name != entry.name:
        raise ConfigurationError(
            f"{_whose(entry)} must be a stepwell.products.Product with the name '{entry.name}'; '{entry.value}' is "
            f"{f'one named {product.name!r}' if isinstance(product, Product) else type(product).__name__}."
        )
    return product


def _whose(entry: EntryPoint) -> str:
    """The name of a product for error messages. Use it only there, because reading a package's metadata takes a while."""
    return f"The product '{entry.name}'" + (f" of the package '{entry.dist.name}'" if entry.dist else "")
