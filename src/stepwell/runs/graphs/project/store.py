"""`store` of a langgraph.json: an index, so that searches compare meanings, and how long items live.

```
"store": {
  "index": {"embed": "stepwell:minilm", "dims": 384, "fields": ["text", "notes[*].title"]},
  "ttl":   {"default_ttl": 10080, "refresh_on_read": true, "sweep_interval_minutes": 60}
}
```
Three forms of `embed`: `stepwell:minilm` runs on this machine and needs no key; `provider:model` is LangChain's
(`openai:text-embedding-3-small`); `./file.py:name` is a function or an `Embeddings` of the project. Reading changes nothing;
`make_index` loads the embedding.

`store.path`, a store of the project's own, is refused: it would know no owners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph.store.base import TTLConfig
from langgraph.store.base.embed import ensure_embeddings, tokenize_path

from stepwell.database.store.index import WHOLE, StoreIndex
from stepwell.errors import ConfigurationError, StepwellError
from stepwell.runs.graphs.project.objects import read_minutes
from stepwell.runs.graphs.sources import GraphSpec, describe_error, load_export
from stepwell.settings import Settings
from stepwell.validation import suggest

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

MINILM = "stepwell:minilm"
_MOST_DIMS = 65_536


@dataclass(frozen=True)
class IndexSpec:
    """`store.index` as written."""

    embed: str
    dims: int
    fields: tuple[str, ...] = (WHOLE,)


@dataclass(frozen=True)
class StoreSpec:
    """`store` as written."""

    index: IndexSpec | None = None
    ttl: TTLConfig | None = None
    """Without `sweep_interval_minutes`: expired items are never found, and housekeeping deletes them every minute."""


def read_store(content: Mapping[str, Any], file: str) -> StoreSpec:
    """Read and check the key; `ConfigurationError` names what is wrong and what to write."""
    store = _object(content.get("store"), "store", file)
    _refuse_unknown(store, "store", ("index", "ttl", "path"), file)
    if store.get("path"):
        raise ConfigurationError(
            f"'store.path' in '{file}' names a store of the project's own. It would show every user's items to everyone, so it is not "
            "used. Remove it: items are stored in Stepwell's database; 'store.index' searches them by meaning."
        )
    ttl = _object(store.get("ttl"), "store.ttl", file)
    return StoreSpec(_read_index(_object(store.get("index"), "store.index", file), file), _read_ttl(ttl, file))


def make_index(spec: IndexSpec, folder: Path, settings: Settings) -> StoreIndex:
    """The index with its embedding loaded. This imports the provider's package or the project's file, and may block."""
    return StoreIndex(_make_embeddings(spec, folder, settings), spec.dims, spec.embed, spec.fields)


def _object(value: object, key: str, file: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"'{key}' in '{file}' must be an object.")
    return value


def _refuse_unknown(given: Mapping[str, Any], key: str, known: Sequence[str], file: str) -> None:
    """A misspelt time to live would keep data forever, without a word."""
    for name in given:
        if name not in known:
            raise ConfigurationError(
                f"'{key}.{name}' in '{file}' is unknown.{suggest(name, known)} Known: {', '.join(known)}. Correct it, or remove it."
            )


def _read_index(index: Mapping[str, Any], file: str) -> IndexSpec | None:
    if not index:
        return None
    _refuse_unknown(index, "store.index", ("embed", "dims", "fields"), file)
    embed, dims, fields = index.get("embed"), index.get("dims"), index.get("fields")
    if not isinstance(embed, str) or not embed.rpartition(":")[0]:
        raise ConfigurationError(
            f"'store.index.embed' in '{file}' must name an embedding: \"{MINILM}\" (no key needed), \"provider:model\", "
            'or "./file.py:name".'
        )
    if embed.startswith("stepwell:") and embed != MINILM:
        raise ConfigurationError(
            f"'store.index.embed' in '{file}' is '{embed}', which does not exist. Stepwell's own is \"{MINILM}\"."
        )
    if dims is None and embed == MINILM:
        dims = 384
    if not isinstance(dims, int) or isinstance(dims, bool) or not 0 < dims <= _MOST_DIMS:
        raise ConfigurationError(
            f"'store.index.dims' in '{file}' must be the number of dimensions of '{embed}', such as 384 for \"{MINILM}\"."
        )
    if fields is not None and (not isinstance(fields, list) or not fields or not all(_is_path(each) for each in fields)):
        raise ConfigurationError(
            f"'store.index.fields' in '{file}' must be a list of fields, such as [\"text\"]. Leave it out to embed whole values."
        )
    return IndexSpec(embed, dims, tuple(fields) if fields else (WHOLE,))


def _is_path(field: object) -> bool:
    return isinstance(field, str) and bool(field) and field.count("[") == field.count("]") and bool(tokenize_path(field))


def _read_ttl(ttl: Mapping[str, Any], file: str) -> TTLConfig | None:
    if not ttl:
        return None
    _refuse_unknown(ttl, "store.ttl", ("default_ttl", "refresh_on_read", "sweep_interval_minutes", "omit_expired"), file)
    refresh = ttl.get("refresh_on_read", True)
    if not isinstance(refresh, bool):
        raise ConfigurationError(f"'store.ttl.refresh_on_read' in '{file}' must be true or false.")
    read_minutes(ttl, "store.ttl", "sweep_interval_minutes", file)
    return TTLConfig(default_ttl=read_minutes(ttl, "store.ttl", "default_ttl", file), refresh_on_read=refresh)


def _make_embeddings(spec: IndexSpec, folder: Path, settings: Settings) -> Embeddings:
    if spec.embed == MINILM:
        from stepwell.models.embedding.for_langchain import open_minilm  # only a store with this index needs it

        if spec.dims != 384:
            raise ConfigurationError(f"'store.index.dims' is {spec.dims}, and '{MINILM}' has 384 dimensions. Set it to 384.")
        return open_minilm(settings)
    target = GraphSpec(spec.embed)
    try:
        if not target.is_file and "." not in target.place:
            return ensure_embeddings(spec.embed)
        return ensure_embeddings(load_export("'store.index.embed'", target, folder))  # type: ignore[arg-type]  # checked there
    except StepwellError:
        raise
    except Exception as error:  # anything that a provider's package raises
        subject = f"'store.index.embed' ('{target.shown}') cannot be used"
        raise ConfigurationError(f"{subject}: loading it failed with {describe_error(error, subject)}") from error
