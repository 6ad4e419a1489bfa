"""A bundle sealed anew with something changed: `verify` alone finds what contradicts itself, `--key` and `--head` find the rest."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Effort

from stepwell.audit.bundle import BundleReader, write_bundle
from stepwell.audit.signing import SigningKey
from stepwell.audit.trail import Entry
from stepwell.audit.verify import verify_bundle
from stepwell.audit.writing.report import ANY_MARK
from stepwell.evidence.equipment import make_equipment
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.settings import Settings
from stepwell.testing.web import OfflineWorld
from stepwell.tools.web.search.choice import search_chain

from .conftest import Research
from .forging import Change, Forgery, take_apart
from .roles import Evidence, Roles, plan


async def _no_wait(seconds: float) -> None: ...


def _write(shown: Evidence) -> str:
    """Three quotes word for word, and one sentence with a number that its source does not have."""
    found = list(shown.items())[:3]
    lines = [f"{text.split('. ')[0].rstrip('.')} [{name}]." for name, text in found]
    return "## Found\n\n" + "\n\n".join(lines) + f" It has 77,777 doors [{found[0][0]}]."


class _Judge:
    """Finds the second of the sentences it is asked about only partly borne out."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, asked: str) -> str:
        self.asked.append(asked)
        return "partial" if len(set(self.asked)) == 2 else "supported"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One report of quotes and one that models wrote, each signed by its owner."""
    folder = tmp_path_factory.mktemp("bundles")
    settings = Settings.load({"STEPWELL_DATA_DIR": str(folder)})
    with OfflineWorld(idle_timeout_s=60.0) as world:
        subject = world.pages[0].subject

        async def make(name: str, models: Any) -> Path:
            search = lambda web: search_chain(settings, web, cached=False, sleep=_no_wait)  # noqa: E731
            equipment = make_equipment(settings, web=world.web, search=search, embedder=LexicalEmbedder(), models=models)
            research = Research(equipment)
            await research.ask(f"How large is the {subject}, and who made it?")
            assert (await research.answer(True))["status"] == "complete"
            await write_bundle(research.vault, folder / f"{name}.zip", SigningKey(folder))
            return folder / f"{name}.zip"

        roles = Roles(plans=[plan(subject)], write=_write, judge=_Judge())
        return {"extractive": asyncio.run(make("extractive", None)), "written": asyncio.run(make("written", roles.routes))}


def owner_of(bundle: Path) -> SigningKey:
    return SigningKey(bundle.parent)


@pytest.mark.parametrize("mode", ["extractive", "written"])
def test_what_was_not_forged_holds_and_is_vouched_for(bundles: dict[str, Path], mode: str, tmp_path: Path) -> None:
    key = owner_of(bundles[mode]).public_key()
    checked = verify_bundle(bundles[mode], key=key, strict=True)
    assert (checked.ok, checked.vouched) == (True, True), checked.problems
    verdicts = {entry.data["verdict"] for entry in take_apart(bundles[mode]).of_kind("claim")}
    assert verdicts == ({"supported"} if mode == "extractive" else {"supported", "partial", "unsupported"})
    again = take_apart(bundles[mode]).seal(tmp_path / "again.zip", owner_of(bundles[mode]))
    assert verify_bundle(again).ok, verify_bundle(again).problems


def _claim(forgery: Forgery, verdict: str) -> Entry:
    return next(entry for entry in forgery.of_kind("claim") if entry.data["verdict"] == verdict)


def _raise_verdict(forgery: Forgery) -> None:
    """The judge found it partly supported."""
    _claim(forgery, "partial").data["verdict"] = "supported"
    forgery.report = ANY_MARK.sub("", forgery.report)


def _raise_unsupported(forgery: Forgery) -> None:
    claim = _claim(forgery, "unsupported")
    claim.data.update(verdict="supported", reasons=[])
    body, sources = forgery.report.split("\n\n*One sentence was left out")
    forgery.report = f"{body} {claim.data['text'][:-1]} [1]." + sources.partition("*")[2]


def _lower_verdict(forgery: Forgery) -> None:
    """A sentence that is in the way is called unsupported, and left out."""
    claim = _claim(forgery, "supported")
    claim.data["verdict"] = "unsupported"


def _drop_a_sentence(forgery: Forgery) -> None:
    claim = forgery.of_kind("claim")[1].data["text"].rstrip(".")
    lines = [line for line in forgery.report.split("\n") if claim not in line]
    forgery.report = "\n".join(lines)


def _add_a_sentence(forgery: Forgery) -> None:
    before, heading, after = forgery.report.rpartition("\n\n## Sources")
    forgery.report = f"{before}\n\nEverybody knows that it is dangerous.{heading}{after}"


def _change_a_sentence(forgery: Forgery) -> None:
    claim = forgery.of_kind("claim")[0].data["text"]
    forgery.report = forgery.report.replace(claim[:10], "Nobody says that " + claim[:10], 1)


def _hide_what_was_left_out(forgery: Forgery) -> None:
    forgery.report = forgery.report.replace(
        "*One sentence was left out because the evidence does not support what was said.*\n\n", ""
    )


def _add_something_skipped(forgery: Forgery) -> None:
    forgery.report = forgery.report.replace(
        "\n## Sources", "\n## What was skipped\n\n- The mayor's own page was closed.\n\n## Sources"
    )


def _state_in_a_heading(forgery: Forgery) -> None:
    forgery.report = "## It was built in 1066!\n\n" + forgery.report


def _invent(forgery: Forgery, text: str) -> None:
    """A claim of our own behind the others, called supported, in the report and in its list."""
    last = forgery.of_kind("claim")[-1]
    quote = forgery.of_kind("claim")[0].data["evidence"][0]
    data = {**forgery.of_kind("claim")[0].data, "claim_id": "c99", "text": text, "evidence": [quote], "reasons": []}
    forgery.insert_after(last, "claim", "claim:c99", data)
    forgery.of_kind("report")[-1].data["claims"].append("c99")
    body, mark, rest = forgery.report.partition("\n\n*One sentence was left out")
    if not mark:
        body, mark, rest = forgery.report.partition("\n\n## Sources")
    forgery.report = f"{body}\n\n{text.rstrip('.')} [1].{mark}{rest}"


def _invent_a_claim(forgery: Forgery) -> None:
    _invent(forgery, "Its 4,711 rooms were painted green by volunteers.")


def _invent_a_claim_with_another_number(forgery: Forgery) -> None:
    text = forgery.of_kind("claim")[0].data["text"]
    _invent(forgery, "".join("7" if character.isdigit() else character for character in text) + " In 1066.")


def _change_the_page_alone(forgery: Forgery) -> None:
    source = forgery.of_kind("source")[0]
    source.data["bytes_sha256"] = forgery.put(b"<p>Something else.</p>")


def _change_the_text_alone(forgery: Forgery) -> None:
    source = forgery.of_kind("source")[0]
    text = forgery.body(source.data["text_sha256"]).decode()
    source.data["text_sha256"] = forgery.put(text.swapcase().encode())


def _change_the_decision(forgery: Forgery) -> None:
    forgery.of_kind("approval")[-1].data["decision"] = "reject"


def _approve_another_plan(forgery: Forgery) -> None:
    forgery.of_kind("approval")[-1].data["plan_sha256"] = "0" * 64


def _change_the_plan(forgery: Forgery) -> None:
    forgery.of_kind("plan")[-1].data["plan"]["steps"][0]["input"] = "something that nobody approved"


def _change_the_plan_and_its_hash(forgery: Forgery) -> None:
    from stepwell.audit.story import hash_plan

    made, said = forgery.of_kind("plan")[-1], forgery.of_kind("approval")[-1]
    made.data["plan"]["objective"] = "Something that nobody asked for"
    made.data["sha256"] = said.data["plan_sha256"] = hash_plan(made.data["plan"])


def _change_the_question(forgery: Forgery) -> None:
    forgery.of_kind("question")[-1].data["query"] = "Is the mayor to blame?"


def _change_a_request(forgery: Forgery) -> None:
    page = next(entry for entry in forgery.of_kind("request") if entry.data["why"] == "page")
    page.data.update(url="https://harmless.example/", host="harmless.example")


def _change_what_a_request_is_for(forgery: Forgery) -> None:
    page = next(entry for entry in forgery.of_kind("request") if entry.data["why"] == "page")
    page.data["step"] = "q1:a-step-of-no-plan"


def _drop(forgery: Forgery, request: Entry) -> None:
    """A request and its answer, as if neither had been."""
    answers = [entry for entry in forgery.entries if entry.data.get("request") == request.data["request"]]
    forgery.drop(request, *answers)


def _drop_the_page(forgery: Forgery) -> None:
    """All requests for it: two steps may have read it."""
    url = forgery.of_kind("source")[0].data["final_url"]
    for entry in [entry for entry in forgery.of_kind("request") if entry.data["url"] == url]:
        _drop(forgery, entry)


def _drop_the_search(forgery: Forgery) -> None:
    _drop(forgery, next(entry for entry in forgery.of_kind("request") if entry.data["why"].startswith("search:")))


def _drop_a_request_to_a_model(forgery: Forgery) -> None:
    forgery.drop(next(entry for entry in forgery.of_kind("request") if entry.data["why"] == "synthesizer"))


def _claim_newer_checks(forgery: Forgery) -> None:
    forgery.of_kind("claim")[0].data["checks"] += 1


SEEN_ALONE: dict[str, list[Change]] = {
    "extractive": [
        _lower_verdict, _drop_a_sentence, _add_a_sentence, _change_a_sentence, _add_something_skipped, _state_in_a_heading,
        _invent_a_claim, _invent_a_claim_with_another_number, _change_the_page_alone, _change_the_text_alone, _change_the_decision,
        _approve_another_plan, _change_the_plan, _change_a_request, _change_what_a_request_is_for, _drop_the_page, _drop_the_search,
        _claim_newer_checks,
    ],
    "written": [
        _raise_verdict, _raise_unsupported, _lower_verdict, _drop_a_sentence, _add_a_sentence, _change_a_sentence,
        _hide_what_was_left_out, _add_something_skipped, _state_in_a_heading, _invent_a_claim, _invent_a_claim_with_another_number,
        _change_the_page_alone, _change_the_text_alone, _change_the_decision, _approve_another_plan, _change_the_plan,
        _change_the_plan_and_its_hash, _change_the_question, _change_a_request, _change_what_a_request_is_for, _drop_the_page,
        _drop_the_search, _drop_a_request_to_a_model, _claim_newer_checks,
    ],
}  # fmt: skip
ALONE = [(mode, change) for mode, changes in SEEN_ALONE.items() for change in changes]


@pytest.mark.parametrize(("mode", "change"), ALONE, ids=lambda value: getattr(value, "__name__", value).lstrip("_"))
def test_a_forgery_that_contradicts_itself_is_found_without_a_key(
    bundles: dict[str, Path], mode: str, change: Change, tmp_path: Path
) -> None:
    """Even where the owner sealed and signed it: the content alone shows it."""
    forgery = take_apart(bundles[mode])
    change(forgery)
    file = forgery.seal(tmp_path / "forged.zip", owner_of(bundles[mode]))
    checked = verify_bundle(file)
    assert checked.problems, change.__name__
    assert all(part.part not in ("bytes", "trail", "manifest", "members") for part in checked.parts if part.problems), (
        "it was sealed well, so only what it says can be wrong",
        checked.problems,
    )


def _change_a_page_everywhere(forgery: Forgery) -> None:
    """A word of a page, of its answer, its text, its quotes, the claims and the report, with all hashes."""
    elsewhere = str([entry.data for kind in ("question", "plan", "request") for entry in forgery.of_kind(kind)]).lower()
    said = " ".join(entry.data["text"] for entry in forgery.of_kind("claim"))
    words = {word for word in said.split() if word.isalpha() and word.islower() and word not in elsewhere}
    word = max(sorted(words), key=len)
    forgery.change_words(f" {word} ", f" {word[::-1]} ")


def _change_a_reason(forgery: Forgery) -> None:
    forgery.of_kind("approval")[-1].data["reason"] = "I was told to."


def _rename_a_heading(forgery: Forgery) -> None:
    forgery.report = forgery.report.replace("\n## ", "\n## Lies about ", 1) if "\n## " in forgery.report else forgery.report


def _change_a_time(forgery: Forgery) -> None:
    for source in forgery.of_kind("source"):
        old = source.data["fetched_at"]
        source.data["fetched_at"] = old.replace("20", "19", 1)
        forgery.report = forgery.report.replace(old, old.replace("20", "19", 1))


def _drop_an_answer_that_nobody_used(forgery: Forgery) -> None:
    """Says that a model audited nothing: no entry rests on it."""
    request = next(entry for entry in forgery.of_kind("request") if entry.data["why"] == "auditor")
    _drop(forgery, request)


NOT_SEEN_ALONE: list[tuple[str, Change]] = [
    *(("extractive", change) for change in (_change_a_page_everywhere, _change_a_reason, _rename_a_heading, _change_a_time)),
    *(("written", change) for change in (_change_a_reason, _change_a_time, _drop_an_answer_that_nobody_used)),
]


@pytest.mark.parametrize(("mode", "change"), NOT_SEEN_ALONE, ids=lambda value: getattr(value, "__name__", value).lstrip("_"))
def test_a_forgery_that_holds_together_is_found_by_the_key_and_by_the_head(
    bundles: dict[str, Path], mode: str, change: Change, tmp_path: Path
) -> None:
    """What the content cannot show. A stranger cannot sign as the owner; the owner cannot make the noted head again."""
    owner, noted = owner_of(bundles[mode]), verify_bundle(bundles[mode]).head
    forgery = take_apart(bundles[mode])
    change(forgery)
    stranger = forgery.seal(tmp_path / "stranger.zip", SigningKey(tmp_path / "stranger"))
    assert verify_bundle(stranger).ok, verify_bundle(stranger).problems
    refused = verify_bundle(stranger, key=owner.public_key())
    assert [problem.where for problem in refused.problems] == ["signature.json"]
    by_owner = take_apart(bundles[mode])
    change(by_owner)
    file = by_owner.seal(tmp_path / "owner.zip", owner)
    assert verify_bundle(file, key=owner.public_key()).ok
    assert not verify_bundle(file, key=owner.public_key(), head=noted).ok


@pytest.mark.parametrize("mode", ["extractive", "written"])
def test_of_all_requests_dropped_one_by_one(bundles: dict[str, Path], mode: str, tmp_path: Path, record_property: Any) -> None:
    """Each with its answer. Found alone unless nothing rests on it, as on a page that two steps have read, or that could not be read."""
    found, names = 0, [entry.key for entry in take_apart(bundles[mode]).of_kind("request")]
    for name in names:
        forgery = take_apart(bundles[mode])
        request = next(entry for entry in forgery.of_kind("request") if entry.key == name)
        _drop(forgery, request)
        file = forgery.seal(tmp_path / "forged.zip", SigningKey(tmp_path / "stranger"))
        alone = not verify_bundle(file).ok
        found += alone
        rested_on = request.data["why"] in ("thinker", "synthesizer") or request.data["why"].startswith("search:")
        assert alone or not rested_on, request.data
        assert not verify_bundle(file, key=owner_of(bundles[mode]).public_key()).ok
    record_property("dropped_requests_found_alone", f"{found} of {len(names)}")


@pytest.mark.prove
def test_changed_bytes_are_found_each_time(
    bundles: dict[str, Path], tmp_path: Path, effort: Effort, record_property: Any
) -> None:
    """279 bytes changed, 360 bits turned, 48 pairs of members with their bytes exchanged; fewer in the short form."""
    original, chance = bundles["written"].read_bytes(), random.Random(17)
    with BundleReader(bundles["written"]) as bundle:
        members = list(bundle.members.values())
    changed = tmp_path / "changed.zip"

    def is_found(content: bytes) -> bool:
        changed.write_bytes(content)
        return not verify_bundle(changed).ok

    places = [chance.randrange(len(original)) for _ in range(effort.cases(20, 279))]
    assert all(is_found(original[:at] + bytes([(original[at] + 1) % 256]) + original[at + 1 :]) for at in places)
    bits = [(chance.randrange(len(original)), chance.randrange(8)) for _ in range(effort.cases(20, 360))]
    assert all(is_found(original[:at] + bytes([original[at] ^ (1 << bit)]) + original[at + 1 :]) for at, bit in bits)
    pairs = [sorted(chance.sample(members, 2), key=lambda member: member.offset) for _ in range(effort.cases(5, 48))]
    for first, second in pairs:
        one, two = (original[each.offset : each.offset + each.size] for each in (first, second))
        between = original[first.offset + first.size : second.offset]
        assert is_found(original[: first.offset] + two + between + one + original[second.offset + second.size :])
    record_property("changes_found", f"{len(places)} bytes, {len(bits)} bits, {len(pairs)} swaps")
