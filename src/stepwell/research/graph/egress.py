"""What has been sent for a question so far, as sentences for the user at the gate. Read from the trail alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.trail import Entry
from stepwell.research.evidence.images import list_transcribed
from stepwell.research.evidence.inquiry import Inquiry

NOTHING = "Nothing has been sent yet."
_ROLES = {"thinker": ("question",), "auditor": ("question", "plan")}
"""What we send to the model of each role; the thinker's also gets what came with the question."""


async def sent_so_far(inquiry: Inquiry) -> dict[str, Any]:
    """`nothing` (whether nothing was sent), `summary` as sentences, and `to`: each place with what was sent there. Keys are those of the
    API."""
    entries = [entry for entry in await inquiry.vault.entries() if entry.key.startswith(f"{inquiry.scope}:")]
    question = next((entry for entry in entries if entry.kind == "question"), None)
    places: dict[tuple[str, str], dict[str, Any]] = {}
    for request in egress_receipt(entries)["requests"]:
        place = places.setdefault(_place(request), {**_name_place(request), "what": [], "requests": 0, "bytes": 0})
        place["requests"] += 1
        place["bytes"] += request.get("bytes") or 0
        place["what"] = list(dict.fromkeys([*place["what"], *_list_sent(request, question, entries)]))
    images = list_transcribed(question.data.get("snippets") or ()) if question else []
    summary = _summary([*map(_sentence, places.values()), *(_describe_image(*each) for each in images)])
    return {"nothing": not places and not images, "summary": summary, "to": list(places.values())}


def _place(request: dict[str, Any]) -> tuple[str, str]:
    return str(request.get("host") or ""), str(request.get("model") or "")


def _name_place(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "host": request.get("host") or "",
        **({"model": request.get("model") or ""} if request.get("to") == "model" else {}),
    }


def _list_sent(request: dict[str, Any], question: Entry | None, entries: Iterable[Entry]) -> list[str]:
    if request.get("to") != "model":
        return ["requests of an approved plan"]
    held = list(_ROLES.get(str(request.get("why")), ("question", "evidence")))
    asked = question.data if question else {}
    if request.get("why") == "thinker":
        held += ["notes"] if asked.get("knowledge_context") else []
        held += ["excerpts"] if asked.get("snippets") else []
        held += ["addresses"] if asked.get("context_urls") else []
        rejected = any(
            entry.kind == "approval" and entry.data.get("reason") and entry.seq < request["seq"] for entry in entries
        )
        held += ["reasons"] if rejected else []
    return held


_WORDS = {
    "question": "your question",
    "notes": "your notes",
    "excerpts": "the excerpts from your device",
    "addresses": "the addresses you gave",
    "reasons": "what you said about a plan",
    "plan": "the plan",
    "evidence": "what was found",
}


def _summary(sentences: Sequence[str]) -> str:
    return " ".join([*sentences, "Nothing else has been sent."]) if sentences else NOTHING


def _describe_image(model: str, label: str) -> str:
    """An image was shown to a model when it was added, before there was a question."""
    return f"The model {model} was shown {label}, to write down its text."


def _sentence(place: dict[str, Any]) -> str:
    many = f"{place['requests']} request{'s' if place['requests'] != 1 else ''}, {place['bytes']:,} bytes"
    if "model" not in place:
        return f"An approved plan asked {place['host']} ({many})."
    things = [_WORDS[each] for each in place["what"]]
    said = f"{', '.join(things[:-1])} and {things[-1]}" if len(things) > 1 else things[0]
    where = place["host"] or "it is not known where"
    return f"The model {place['model'] or 'that is configured'} ({where}) was sent {said} ({many})."
