"""What `stepwell research` takes from an earlier bundle: sources to build on (`--on`), or a question to ask again (`--refresh`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepwell.errors import BundleError, needs_extra
from stepwell.research.commands.options import ResearchOptions
from stepwell.research.commands.verify import name_key
from stepwell.settings import Settings

if TYPE_CHECKING:
    from stepwell.research.evidence.origin import Origin


def read_earlier(options: ResearchOptions, settings: Settings) -> Origin | None:
    """The bundle of `--on` or `--refresh`, if any. We verify it before anything starts, and require that this installation or the owner
    of `--key` signed it."""
    bundle = options.origin or options.refresh
    if bundle is None:
        return None
    with needs_extra("Research", "research"):
        from stepwell.research.audit.signing import SigningKey, read_public_key
        from stepwell.research.evidence.origin import read_origin
    own = SigningKey(settings.data_folder, settings.signing_key_file).public_key()
    named = None if options.key is None else read_public_key(name_key(options.key))
    found = read_origin(bundle, [key for key in (own, named) if key], unvouched=options.unvouched)
    if options.refresh and found.question.data["mode"] == "deep":
        raise BundleError(
            f"The bundle '{bundle.name}' is from a deep research, which chooses its own steps. Ask again in its thread; --refresh "
            "works only for bundles of `stepwell research`."
        )
    return found


def asked_along(options: ResearchOptions, earlier: Origin | None) -> dict[str, Any]:
    """The inputs of the earlier research besides its question. Inputs given on the command line now take precedence."""
    if not options.refresh or earlier is None:
        return {}
    said = earlier.question.data
    notes, urls = str(said.get("knowledge_context") or ""), list(said.get("context_urls") or ())
    snippets = list(said.get("snippets") or ())
    return {
        **({"knowledge_context": notes} if notes and not options.context else {}),
        **({"snippets": snippets} if snippets and not options.context else {}),
        **({"context_urls": urls} if urls and not options.context_urls and not options.only_documents else {}),
        **({"only_documents": True} if said.get("only_documents") == "asked" and not options.context_urls else {}),
    }


def describe_changes(before: Path, after: Path) -> str:
    """The differences between two bundles, for a reader."""
    from stepwell.research.audit.export.changes import compare, describe
    from stepwell.research.audit.export.dossier import read_dossier

    return describe(compare(read_dossier(before), read_dossier(after)))
