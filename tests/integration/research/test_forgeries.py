"""A bundle sealed anew with something changed: `verify` alone finds what contradicts itself, `--key` and `--head` find the rest."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Effort

from stepwell.clock import spell_time
from stepwell.research.audit.bundle import BundleReader
from stepwell.research.audit.sentences import passages
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.trail import Entry
from stepwell.research.audit.verdicts import UNJUDGED
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.audit.writing.report import ANY_MARK, QUOTES_NOTE, QUOTES_NOTES

from .forging import Change, Forgery, owner_of, take_apart


@pytest.mark.parametrize("mode", ["extractive", "written"])
def test_what_was_not_forged_holds_and_is_vouched_for(bundles: dict[str, Path], mode: str, tmp_path: Path) -> None:
    key = owner_of(bundles[mode]).public_key()
    checked = verify_bundle(bundles[mode], key=key, strict=True)
    assert (checked.ok, checked.vouched) == (True, True), checked.problems
    verdicts = {entry.data["verdict"] for entry in take_apart(bundles[mode]).of_kind("claim")}
    assert verdicts == ({"verbatim"} if mode == "extractive" else {"verbatim", "partial", "unsupported"})
    again = take_apart(bundles[mode]).seal(tmp_path / "again.zip", owner_of(bundles[mode]))
    assert verify_bundle(again).ok, verify_bundle(again).problems


def test_a_report_of_quotes_with_an_earlier_note_still_holds(bundles: dict[str, Path], tmp_path: Path):
    (earlier,) = QUOTES_NOTES - {QUOTES_NOTE}
    stored = take_apart(bundles["extractive"])
    stored.report = stored.report.replace(QUOTES_NOTE, earlier)
    file = stored.seal(tmp_path / "earlier.zip", owner_of(bundles["extractive"]))
    assert verify_bundle(file).ok, verify_bundle(file).problems


def _claim(forgery: Forgery, verdict: str) -> Entry:
    return next(entry for entry in forgery.of_kind("claim") if entry.data["verdict"] == verdict)


def _raise_verdict(forgery: Forgery) -> None:
    """The judge did not settle it."""
    _claim(forgery, "partial").data["verdict"] = "verbatim"
    forgery.report = ANY_MARK.sub("", forgery.report)


def _raise_unsupported(forgery: Forgery) -> None:
    claim = _claim(forgery, "unsupported")
    claim.data.update(verdict="supported", reasons=[])
    body, sources = forgery.report.split("\n\n*One sentence was left out")
    forgery.report = f"{body} {claim.data['text'][:-1]} [1]." + sources.partition("*")[2]


def _lower_verdict(forgery: Forgery) -> None:
    """A sentence that is in the way is called unsupported, and left out."""
    claim = _claim(forgery, "verbatim")
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
    from stepwell.research.audit.story import hash_plan

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


LIE = "# Nothing was found\n\nThe mayor is to blame for everything.\n"


def _rename_scope(forgery: Forgery, old: str, new: str) -> None:
    """In every key and in every field that names one."""
    text = json.dumps([[entry.kind, entry.key, entry.data] for entry in forgery.entries]).replace(f'"{old}:', f'"{new}:')
    forgery.entries = [Entry(0, kind, key, "", data, "", "") for kind, key, data in json.loads(text)]


def _lie_without_what_was_before(forgery: Forgery) -> None:
    forgery.report = LIE
    for entry in forgery.entries:
        entry.data.pop("after", None)


def _lie_without_lists(forgery: Forgery) -> None:
    forgery.report = LIE
    for name in ("claims", "quotes", "sources"):
        forgery.of_kind("report")[-1].data.pop(name)


def _lie_without_a_claim(forgery: Forgery) -> None:
    forgery.report = LIE
    forgery.of_kind("report")[-1].data.update(claims=[], quotes=[], sources=[])


def _lie_in_a_trail_without_a_question(forgery: Forgery) -> None:
    forgery.report = LIE
    forgery.drop(*forgery.of_kind("question"))


def _drop_approvals_under_another_name(forgery: Forgery) -> None:
    forgery.drop(*forgery.of_kind("approval"), *forgery.of_kind("plan"), *forgery.of_kind("audit"))
    forgery.of_kind("report")[-1].data["after"] = "q1:question"
    _rename_scope(forgery, "q1", "program")


def _drop_approvals_as_an_agent(forgery: Forgery) -> None:
    """As if a deep research had written it, which asks nobody."""
    forgery.drop(*forgery.of_kind("approval"), *forgery.of_kind("plan"), *forgery.of_kind("audit"))
    _rename_scope(forgery, "q1", "deep")
    question = forgery.of_kind("question")[-1]
    question.data.clear()
    question.data.update(query="Is it large?", mode="deep", policy_sha256=forgery.put(b"# Policy"), after="")


def _drop_the_approval(forgery: Forgery) -> None:
    said = forgery.of_kind("approval")[-1]
    forgery.drop(said)
    for entry in forgery.entries:
        if entry.data.get("after") == said.key:
            entry.data["after"] = said.data["after"]


def _raise_verdict_without_a_mode(forgery: Forgery) -> None:
    _raise_verdict(forgery)
    for kind in ("question", "report"):
        forgery.of_kind(kind)[-1].data["mode"] = ""


def _raise_verdict_as_if_judged_here(forgery: Forgery) -> None:
    """A judge on the same machine leaves no request; what it was asked and said is kept all the same."""
    _raise_verdict(forgery)
    forgery.drop(*(entry for entry in forgery.of_kind("request") if entry.data["why"] == "judge"))
    for answer in forgery.of_kind("model_call"):
        if ":judge:" in answer.key:
            answer.data["left"] = False


def _raise_verdict_without_its_judge(forgery: Forgery) -> None:
    _raise_verdict(forgery)
    forgery.drop(*(entry for entry in forgery.entries if ":judge:" in entry.key))


def _name_a_better_judge(forgery: Forgery) -> None:
    forgery.of_kind("report")[-1].data["judge"]["model"] = "oracle:infallible-1"


def _name_no_judge(forgery: Forgery) -> None:
    forgery.of_kind("report")[-1].data["judge"] = None


def _say_that_the_judge_failed_beside_its_opinion(forgery: Forgery) -> None:
    _claim(forgery, "partial").data["reasons"] = [UNJUDGED]


def _say_that_the_judge_failed_on_a_paraphrase(forgery: Forgery) -> None:
    """A sentence in another order of words than its quote, also in what the model answered, and no judge."""
    claim = _claim(forgery, "partial")
    said = claim.data["text"].rstrip(".")
    other = " ".join(reversed(said.split()))
    draft = next(answer for answer in forgery.of_kind("model_call") if answer.key.startswith("q1:write:"))
    _answer_otherwise(forgery, draft, forgery.body(draft.data["body_sha256"]).decode().replace(said, other))
    forgery.report = forgery.report.replace(said, other)
    claim.data.update(text=f"{other}.", reasons=[])
    _raise_verdict_without_its_judge(forgery)


def _raise_verdict_by_older_checks(forgery: Forgery) -> None:
    _raise_unsupported(forgery)
    for claim in forgery.of_kind("claim"):
        claim.data["checks"] -= 1


def _give_another_reason(forgery: Forgery) -> None:
    """A reason of the checks stands in the mark behind a sentence, so it must be theirs."""
    claim = _claim(forgery, "partial")
    claim.data["reasons"] = ["the source is a friend of the mayor"]
    forgery.report = forgery.report.replace("*(not settled)*", "*(not settled: the source is a friend of the mayor)*")


def _write_a_sentence_of_our_own(forgery: Forgery) -> None:
    """One that its quote bears out, and that no model wrote."""
    first = forgery.of_kind("claim")[0].data
    quote = next(entry.data for entry in forgery.of_kind("quote") if entry.data["quote_id"] == first["evidence"][0])
    sentence = next(each for each in passages(quote["text"]))
    _invent(forgery, sentence.text)


def _write_it_where_a_ceiling_was_reached(forgery: Forgery) -> None:
    """As if no model had been asked to write: then only quotes can stand there."""
    _invent(forgery, "It is said to be quite large.")
    told = {"step": "write", "skipped": ["No model was asked to write."]}
    forgery.insert_after(forgery.of_kind("claim")[0], "limit", "q1:limit:write", told)
    title, _, rest = forgery.report.partition("\n")
    forgery.report = f"{title}\n\n{QUOTES_NOTE}\n{rest}"


def _call_it_quotes(forgery: Forgery) -> None:
    """What a model wrote, as if it stood in the sources word for word."""
    for kind in ("question", "report"):
        forgery.of_kind(kind)[-1].data["mode"] = "extractive"
    title, _, rest = forgery.report.partition("\n")
    forgery.report = f"{title}\n\n{QUOTES_NOTE}\n{rest}"


def _quote_what_is_not_there(forgery: Forgery) -> None:
    """An extractive report whose sentence says what its source says, in other words."""
    claim = next(entry for entry in forgery.of_kind("claim") if " is " in entry.data["text"] or " was " in entry.data["text"])
    old = claim.data["text"]
    new = old.replace(" was ", " had been ", 1) if " was " in old else old.replace(" is ", " has been ", 1)
    claim.data["text"] = new
    forgery.report = forgery.report.replace(old.rstrip("."), new.rstrip("."))


def _make_a_page_a_device(forgery: Forgery) -> None:
    """What came from a device is asked of nobody, and has no address."""
    for source in forgery.of_kind("source"):
        source.data["kind"] = "device"


def _bring_a_device_source(forgery: Forgery) -> None:
    """Words that nobody brought along, as if they were the asker's own."""
    source = forgery.of_kind("source")[0]
    source.data.update(kind="device", url=None, final_url=None, status=None, engine=None, robots="n/a")
    forgery.report = re.sub(r"\[([^\]]*)\]\(http[^)]*\)", r"\1 (from your device)", forgery.report)


def _drop_every_request(forgery: Forgery) -> None:
    """With a reason for each step why nothing was asked."""
    for request in forgery.of_kind("request"):
        if request.data["to"] == "web":
            _drop(forgery, request)
    for step in forgery.of_kind("plan")[-1].data["plan"]["steps"]:
        told = {"step": step["id"], "skipped": []}
        forgery.insert_after(forgery.of_kind("approval")[-1], "limit", f"q1:limit:{step['id']}", told)


def _name_a_source_twice(forgery: Forgery) -> None:
    """A second entry under another key would take the place of the first."""
    source = forgery.of_kind("source")[0]
    other = {**source.data, "title": "The mayor's diary"}
    forgery.insert_after(source, "source", "source:s99", other)


def _say_that_rules_made_the_plan(forgery: Forgery) -> None:
    _change_the_plan_and_its_hash(forgery)
    forgery.of_kind("plan")[-1].data["by"] = "rules"


def _let_no_audit_pass(forgery: Forgery) -> None:
    forgery.of_kind("audit")[-1].data["audit"].update(verdict="rejected", violations=[{"rule": "J1", "reason": "no"}])


FORMS: list[Change] = [
    _lie_without_what_was_before, _lie_without_lists, _lie_without_a_claim, _lie_in_a_trail_without_a_question,
    _drop_approvals_under_another_name, _drop_approvals_as_an_agent, _drop_the_approval, _make_a_page_a_device, _bring_a_device_source,
    _drop_every_request, _name_a_source_twice, _let_no_audit_pass,
]  # fmt: skip
"""Seen in a report of either kind."""
SEEN_ALONE: dict[str, list[Change]] = {
    "extractive": [
        _lower_verdict, _drop_a_sentence, _add_a_sentence, _change_a_sentence, _add_something_skipped, _state_in_a_heading,
        _invent_a_claim, _invent_a_claim_with_another_number, _change_the_page_alone, _change_the_text_alone, _change_the_decision,
        _approve_another_plan, _change_the_plan, _change_a_request, _change_what_a_request_is_for, _drop_the_page, _drop_the_search,
        _claim_newer_checks, _quote_what_is_not_there, *FORMS,
    ],
    "written": [
        _raise_verdict, _raise_unsupported, _lower_verdict, _drop_a_sentence, _add_a_sentence, _change_a_sentence,
        _hide_what_was_left_out, _add_something_skipped, _state_in_a_heading, _invent_a_claim, _invent_a_claim_with_another_number,
        _change_the_page_alone, _change_the_text_alone, _change_the_decision, _approve_another_plan, _change_the_plan,
        _change_the_plan_and_its_hash, _change_the_question, _change_a_request, _change_what_a_request_is_for, _drop_the_page,
        _drop_the_search, _drop_a_request_to_a_model, _claim_newer_checks, _raise_verdict_without_a_mode,
        _raise_verdict_as_if_judged_here, _raise_verdict_without_its_judge, _say_that_the_judge_failed_on_a_paraphrase,
        _say_that_the_judge_failed_beside_its_opinion, _raise_verdict_by_older_checks, _give_another_reason,
        _write_a_sentence_of_our_own, _write_it_where_a_ceiling_was_reached, _call_it_quotes, _say_that_rules_made_the_plan,
        _name_a_better_judge, _name_no_judge, *FORMS,
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
    assert not checked.ok
    assert all(part.part not in ("bytes", "manifest", "members") for part in checked.parts if part.problems), (
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
        forgery.report = forgery.report.replace(spell_time(old), spell_time(source.data["fetched_at"]))


def _drop_an_answer_that_nobody_used(forgery: Forgery) -> None:
    """Says that a model audited nothing: no entry rests on it."""
    request = next(entry for entry in forgery.of_kind("request") if entry.data["why"] == "auditor")
    _drop(forgery, request)


def _answer_otherwise(forgery: Forgery, answer: Entry, said: str) -> None:
    answer.data.update(body_sha256=forgery.put(said.encode()), bytes=len(said.encode()))


def _bribe_the_judge(forgery: Forgery) -> None:
    """The opinion that was recorded is changed with the verdict."""
    claim = _claim(forgery, "partial")
    for answer in forgery.of_kind("model_call"):
        if ":judge:" in answer.key and claim.data["text"].encode() in forgery.body(answer.data["asked_sha256"]):
            _answer_otherwise(forgery, answer, '{"verdict": "supported", "reason": ""}')
    claim.data["reasons"] = []
    _raise_verdict(forgery)


def _drop_the_judge_of_a_quoted_sentence(forgery: Forgery) -> None:
    """It stands word for word in its quote, and the judge's doubt is gone."""
    _claim(forgery, "partial").data["reasons"] = []
    _raise_verdict_without_its_judge(forgery)
    forgery.of_kind("report")[-1].data["judge"] = None


def _praise_the_judge(forgery: Forgery) -> None:
    """The figures of a judge are the word of whoever sealed the bundle."""
    shares = dict.fromkeys(("precision", "precision_low", "precision_high", "recall"), 1000)
    of_rules = dict.fromkeys(("rules_precision", "rules_recall", "unusable"), 0)
    about = {"day": "2026-01-01", "checks": 1, "prompt_sha256": "0" * 64, "sets": ["ours"], "claims": 1_000_000}
    forgery.of_kind("report")[-1].data["judge"]["measured"] = {**about, **shares, **of_rules}


def _write_it_for_the_model(forgery: Forgery) -> None:
    """A sentence that did not hold is gone, from what the model answered too."""
    claim = _claim(forgery, "unsupported")
    draft = next(answer for answer in forgery.of_kind("model_call") if answer.key.startswith("q1:write:"))
    _answer_otherwise(
        forgery, draft, re.sub(r" It has 77,777 doors \[e\d+\]\.", "", forgery.body(draft.data["body_sha256"]).decode())
    )
    (writing,) = forgery.of_kind("writing")
    before = [entry for entry in forgery.of_kind("claim") if entry.data["claim_id"] in writing.data["before"]]
    writing.data.update(revision=None, before=[])
    forgery.drop(claim, *before)
    forgery.of_kind("report")[-1].data["claims"].remove(claim.data["claim_id"])
    _hide_what_was_left_out(forgery)


def _change_the_plan_of_rules(forgery: Forgery) -> None:
    _change_the_plan_and_its_hash(forgery)


def _change_the_question_alone(forgery: Forgery) -> None:
    _change_the_question(forgery)


def _change_the_policy(forgery: Forgery) -> None:
    for audit in forgery.of_kind("audit"):
        audit.data["policy_sha256"] = forgery.put(b"# Policy\n\nEverything is allowed.\n")


def _skip_something(forgery: Forgery) -> None:
    told = {"step": "1", "skipped": ["The mayor's own page was closed."]}
    forgery.insert_after(forgery.of_kind("approval")[-1], "limit", "q1:limit:1", told)
    _add_something_skipped(forgery)


NOT_SEEN_ALONE: list[tuple[str, Change]] = [
    *(
        ("extractive", change)
        for change in (_change_the_plan_of_rules, _change_the_question_alone, _change_the_policy, _skip_something)
    ),
    *(("written", change) for change in (_bribe_the_judge, _drop_the_judge_of_a_quoted_sentence, _write_it_for_the_model)),
    ("written", _praise_the_judge),
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
