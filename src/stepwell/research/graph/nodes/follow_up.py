"""The second round: searches for a name that the steps found, one at a time, at most as many as the approved plan allows.

```
pages that were read        ─> names ─> a search of the web, with pages to read        if the approved plan uses the web; beside the name,
                                                                                       only words that its steps send anyway
the user's own documents    ─> names ─> a search of these documents                    never of the web
```

The same texts give the same follow-ups with the same ids, and each is in the trail before it is made. A run that was killed in between
goes on with the one it had begun.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence

from stepwell.research.audit.evidence import Source
from stepwell.research.audit.quoting import locate
from stepwell.research.evidence.gathering import gather
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.policy.rules import DOCUMENTS, StepTool
from stepwell.research.finding.follow_ups import FollowUp, follow_ups
from stepwell.research.graph.nodes.tool_executor import keep_pages, list_addresses, note_limits, require_approved
from stepwell.research.graph.schemas import MAX_INPUT_CHARS, Followed, ResearchPlan, plan_sha256
from stepwell.research.graph.state import Done, ResearchState, read_sources
from stepwell.secrets.text import HIDDEN, hide_secrets
from stepwell.words import stem, words


async def follow_up(inquiry: Inquiry, state: ResearchState) -> Done:
    plan, left = require_approved(state), state["follow_ups_left"]
    evidence = await inquiry.evidence()
    before = read_sources(state, evidence)
    pages = [evidence.sources[each] for each in before if evidence.sources[each].kind == "web"]
    step = await _choose(inquiry, state, plan, pages)
    if step is None:
        return {"follow_ups_left": 0}, ""
    number = plan.follow_ups - left + 1
    await inquiry.tell(
        "follow_up",
        f"follow_up:{number}",
        {"step": step.id, "tool": step.tool, "query": step.input, "source": step.source, "because": step.because},
    )
    known = list_addresses(before, evidence)
    gathered = await gather(inquiry, step, known)
    new = await keep_pages(inquiry, [gathered], set(known))
    await note_limits(inquiry, [gathered])
    return {
        "followed": [*state.get("followed", ()), step.model_copy(update={"output": gathered.output})],
        "follow_ups_left": left - 1,
        "read_sources": list(dict.fromkeys([*before, *new])),
        "pages_read": state.get("pages_read", 0) + len(gathered.pages),
        "skipped": [*state.get("skipped", ()), *gathered.skipped],
        "status": "executing",
    }, f"Follow-up {number} of at most {plan.follow_ups}: {step.input} ({step.rationale}). {gathered.output}"


async def _choose(inquiry: Inquiry, state: ResearchState, plan: ResearchPlan, pages: Sequence[Source]) -> Followed | None:
    """The next follow-up: on the web first, where the plan uses it, then in the user's documents. `None` if there is nothing to follow.

    `pages` are the web pages that this branch has read. The user's documents are not among them: no search of the web may come from these.
    """
    asked = [_without_hidden(hide_secrets(step.input)) for step in (*plan.steps, *state.get("followed", ()))]
    mark = f"{inquiry.scope}:{plan_sha256(plan)}:{len(asked)}"
    places: list[tuple[StepTool, Mapping[str, str], Mapping[str, str], frozenset[str] | None]] = []
    if plan.uses_web and not state.get("from_documents"):
        read = {page.source_id: (await inquiry.vault.get(page.text_sha256)).decode() for page in pages}
        places.append(("web_search", read, {page.source_id: page.title for page in pages}, _approved_stems(plan)))
    places.append((DOCUMENTS, _read_own(inquiry), {each.id: each.label for each in inquiry.own}, None))
    question = _without_hidden(state["user_query"])
    for tool, texts, names, allowed in places:
        most = state["follow_ups_left"]
        for found in await asyncio.to_thread(follow_ups, question, texts, asked, most, allowed):
            step = _make_step(mark, tool, found, names) if found.query.strip() and found.because.strip() else None
            if step is not None and _is_usable(inquiry, step, texts):
                return step
    return None


def _approved_stems(plan: ResearchPlan) -> frozenset[str]:
    """The words that an approved step sends to the web, by stem. Other words of the question may be private, or removed by the user."""
    sent = (_without_hidden(hide_secrets(step.input)) for step in plan.steps if step.tool != DOCUMENTS)
    return frozenset(stem(word.text) for text in sent for word in words(text))


def _without_hidden(text: str) -> str:
    """Without the word that stands where a key was: a replay has it in the plan too, and it is nothing to search for."""
    return text.replace(HIDDEN, " ")


def _make_step(mark: str, tool: StepTool, found: FollowUp, names: Mapping[str, str]) -> Followed:
    query, because = (hide_secrets(" ".join(text.split()))[:MAX_INPUT_CHARS].strip() for text in (found.query, found.because))
    how = "named" if because == query else f"from '{because}'"
    return Followed(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{mark}:{tool}:{query}")),
        tool=tool,
        input=query,
        rationale=f"{how} in {names.get(found.source_id) or found.source_id}",
        source=found.source_id,
        because=because,
    )


def _is_usable(inquiry: Inquiry, step: Followed, texts: Mapping[str, str]) -> bool:
    """Whether the policy allows the search, and whether a reader of the trail will find the words that it came from."""
    broken = inquiry.equipment.policy.check_step(step, only_documents=inquiry.only_documents)
    return not broken and all(locate(text, step.because) for text in (texts.get(step.source, ""), step.input))


def _read_own(inquiry: Inquiry) -> dict[str, str]:
    texts: dict[str, str] = {}
    for each in inquiry.own:
        texts[each.id] = f"{texts[each.id]}\n{each.text}" if each.id in texts else each.text
    return texts
