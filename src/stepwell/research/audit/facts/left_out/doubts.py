"""A source's doubts that a claim left out: it was only tried, allowed or planned; it depends on a condition; somebody says it; it is
a rumour; or the source quotes it to deny it.
"""

from __future__ import annotations

import re

from stepwell.research.audit.facts.left_out.rules import FEWEST, LONGEST, LeftOut, roots_of, says_it
from stepwell.research.audit.facts.reading.statement import Statement
from stepwell.research.audit.facts.words.qualifiers import is_hedged, speaks_of_the_future
from stepwell.research.audit.facts.words.roots import root
from stepwell.words import is_function

_TRYING = re.compile(
    r"\b(?:tr(?:y|ies|ied|ying)|sets? out|attempt\w*|sought|seek(?:s|ing)?|aim(?:s|ed|ing)?|intend\w*|intention|meant|plan(?:s|"
    r"ned|ning)?|hop(?:es?|ed|ing)|"
    r"want(?:s|ed)?|wish(?:es|ed)?|promis(?:es?|ed)|pledg\w+|vow(?:s|ed)?|offer(?:s|ed)?|threaten(?:s|ed)?|licen[sc]\w*|"
    r"allow(?:s|ed)?|permi(?:t|ts|tted|ssion)|"
    r"authori[sz]\w+|entitle[sd]?|expect(?:s|ed)?|schedul\w+|due|suppos(?:ed|edly)|agree[sd]?|order(?:s|ed)|ask(?:s|ed)|urg(?:es?|ed)|"
    r"invit(?:es?|ed)|propos\w+|bid|campaign(?:s|ed)?|consider(?:s|ed|ing)?|prepar\w+|right|"
    r"power)\b[^.;:]{0,50}?\bto\s+(?:be\s+)?(?P<act>\w+)",
    re.IGNORECASE,
)
_TRYING_ELSEWHERE = re.compile(
    r"\b(?:versuch\w*|erlaub\w*|beabsichtig\w*|genehmig\w*|plan(?:t|te|ten|en)|beantrag\w*|gestatte\w*|droh\w*|versprach\w*)\b"
    r"[^.;:]{0,90}?\bzu\s?(?P<act>\w+)|\b(?:will|wollen|wollte|wollten|soll|sollte|sollten|darf|durfte|"
    r"möchte)\b[^.;:,]{0,90}?\s(?P<last>\w+en)\b(?=[.,;]|$)|"
    r"\b(?:tent\w+|essay\w+|autoris\w+|permi\w+|intent\w+|autoriz\w+)\b[^.;:]{0,40}?\b(?:de|d'|à|a)\s?(?P<other>\w+)",
    re.IGNORECASE,
)
_FAILING = re.compile(
    r"\b(?:fail(?:s|ed)?|refus(?:es|ed)|declin(?:es|ed)|unable|forgot|neglect(?:s|ed)|omit(?:s|"
    r"ted))\b[^.;:]{0,20}?\bto\s+(?:be\s+)?(?P<act>\w+)",
    re.IGNORECASE,
)
_QUALIFIED = re.compile(
    r"\b(?:tr(?:y|ies|ied|ying)|attempt\w*|sought|seek\w*|aim\w*|inten\w+|meant|plan\w*|hop(?:es?|ed|ing)|want\w*|"
    r"wish\w*|promis\w+|pledg\w+|vow\w*|"
    r"offer\w*|threat\w*|licen[sc]\w*|allow\w*|permi\w+|authori[sz]\w+|entitle\w*|expect\w*|schedul\w+|due|suppos\w+|"
    r"agree\w*|order\w*|ask\w*|urg\w+|"
    r"invit\w+|propos\w+|bid|campaign\w*|consider\w*|prepar\w+|right|power|may|might|can|could|would|should|not|n't|"
    r"fail\w*|refus\w+|declin\w+|unable|"
    r"versuch\w*|erlaub\w*|beabsicht\w*|genehmig\w*|beantrag\w*|gestatte\w*|woll\w*|soll\w*|durf\w*|darf|möchte\w*|"
    r"tent\w+|essay\w+|autoris\w+|intent\w+)\b",
    re.IGNORECASE,
)


def attempt(claim: Statement, quote: Statement) -> LeftOut | None:
    """Something tried, planned, promised or allowed, told as done."""
    if _QUALIFIED.search(claim.text) or speaks_of_the_future(claim.text) or is_hedged(claim.text):
        return None
    said = roots_of(claim.text)
    for form in (_TRYING, _TRYING_ELSEWHERE):
        for match in form.finditer(quote.text):
            act = next(group for group in match.groups() if group)
            if root(act) in said and not is_function(act):
                return LeftOut(match.group())
    return None


def failure(claim: Statement, quote: Statement) -> LeftOut | None:
    if _QUALIFIED.search(claim.text) or claim.denials.scope:
        return None
    said = roots_of(claim.text)
    match = next((each for each in _FAILING.finditer(quote.text) if root(each["act"]) in said), None)
    return LeftOut(match.group(), "contradicted") if match else None


_CONDITION = re.compile(
    r"^(?:Should|Were|Had)\b[^,.;]*,|\b(?:(?<!as )(?<!even )(?<!what )(?<!ask )(?<!see )if(?! any\b)(?! not\b)|unless|provided(?: that)?|"
    r"providing that|as long as|on condition|"
    r"on the condition|assuming|in the event|except (?:if|when|that)|only when|falls|sofern|es sei denn|vorausgesetzt|nur wenn|"
    r"à condition|sauf si|siempre que|a menos que)\b[^,.;]*",
    re.IGNORECASE,
)
_DEPENDING = re.compile(r"\b(?:when|where|otherwise|depend\w*|would|whether|wenn|ob|si)\b", re.IGNORECASE)


def condition(claim: Statement, quote: Statement) -> LeftOut | None:
    """Something that is so only on a condition, told as so."""
    match = _CONDITION.search(quote.text)
    if match is None or _CONDITION.search(claim.text) or _DEPENDING.search(claim.text):
        return None
    outside = roots_of(quote.text[: match.start()] + quote.text[match.end() :])
    return LeftOut(match.group()) if len(roots_of(claim.text) & outside) >= FEWEST else None


_DENIED = re.compile(
    r"\b(?:myth|misconception|fallacy|hoax|fabrication|legend|lie|fiction) (?:is )?(?:that|of)\b|\bcontrary to\b|"
    r"\bes stimmt nicht\b|\bentgegen\b|"
    r"\b(?:claims?|ideas?|beliefs?|notions?|theor(?:y|ies)|suggestions?|reports?|allegations?|rumou?rs?|assertions?|"
    r"story|stories) that\b.{0,200}?"
    r"\b(?:not|never|false|untrue|wrong|unfounded|baseless|rejected|refuted|disproved|disproven|dismissed|denied|"
    r"debunked|mistaken|unsupported|invented)\b|"
    r"\b(?:denie[sd]|denying|reject(?:s|ed)|dismiss(?:es|ed)|disput(?:es|ed)|refut(?:es|ed)|debunk(?:s|ed)|disprov(?:es|ed))\b"
    r" (?:\w+ ){0,3}?(?:that|claims?|reports?|allegations?|suggestions?|rumou?rs?|having|being)\b|"
    r"\b(?:falsely|wrongly|mistakenly|erroneously|incorrectly)\b|\b(?:no|little|scant|without) (?:\w+ )?evidence (?:that|of|for)\b|"
    r"\bit is (?:not true|untrue|false|wrong) that\b",
    re.IGNORECASE | re.DOTALL,
)
_DENYING = re.compile(
    r"\b(?:not|no|never|n't|myth|misconception|hoax|legend|contrary|deni\w+|reject\w+|dismiss\w+|disput\w+|refut\w+|"
    r"debunk\w+|disprov\w+|false\w*|wrong\w*|untrue|"
    r"mistak\w+|erroneous\w*|incorrect\w*|claim\w*|alleg\w+|rumou?r\w*|evidence|kein\w*|nicht|entgegen|without|lack\w*|"
    r"unfounded|baseless)\b|n't\b",
    re.IGNORECASE,
)


def denied(claim: Statement, quote: Statement) -> LeftOut | None:
    """What a source quotes only to deny it: "It is a myth that ..."."""
    match = _DENIED.search(quote.text)
    if match is None or _DENYING.search(claim.text):
        return None
    rest = quote.text[match.start() : match.start() + 300]
    own = roots_of(claim.text)
    if len(own & roots_of(rest)) < max(FEWEST, len(own) // 2):
        return None
    return LeftOut(quote.text[match.start() : match.start() + LONGEST], "contradicted")


_OPINION = re.compile(
    r"\b(?:hypothes\w+|speculat\w+|theori[sz]\w+|postulat\w+|conjectur\w+|rumou?r\w*|alleg(?:es?|ed|edly|ation\w*)|purport\w*|"
    r"(?:critics|opponents|supporters|advocates|campaigners|fans|residents|locals|villagers|some|many|sceptics|"
    r"skeptics) (?:say|said|claim|argue|believe|think|maintain|insist|suspect)\w*|"
    r"claim(?:s|ed)?(?! (?:to|the title|victory|lives?|responsibility|\d))|argu(?:es?|ed)|believ(?:es?|ed)|maintain(?:s|"
    r"ed) that|insist(?:s|ed)|contend(?:s|ed)?|asserts?|asserted|"
    r"accus(?:es?|ed)|angeblich|behaupte\w*|vermut\w*|mutmaß\w*|Gerücht\w*|prétend\w*|supuest\w*)\b",
    re.IGNORECASE,
)
_ATTRIBUTED = re.compile(
    r"(?:^|[,.;] ?)(?:according to|in the (?:view|opinion|words) of|by (?:his|her|its|their) own account|laut|"
    r"nach angaben|selon|según)\b|"
    r"\b(?:says|said|say|told|tells|states|stated) (?:the|its|their|his|her|an?|this|that|us|me)\b|"
    r"[,”\"] ?(?:\w+ ){1,4}(?:says|said|claims|claimed)\b|"
    r"\b(?:says|said|say) that\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:according|says?|said|told|report\w*|claim\w*|stat(?:es?|ed)|announc\w+|warn\w*|"
    r"call(?:s|ed)|urg\w+|laut|selon|según|view|opinion|"
    r"thought|"
    r"may|might|could|likely|possibly|consider\w*|think\w*|suspect\w*|suggest\w*|ha(?:s|ve) found|found|shows?|describ\w+|accord\w*)\b",
    re.IGNORECASE,
)


def _is_told(claim: Statement) -> bool:
    """Whether the claim itself says that somebody says or thinks it."""
    return _OPINION.search(claim.text) is not None or _TOLD.search(claim.text) is not None


def opinion(claim: Statement, quote: Statement) -> LeftOut | None:
    """What somebody claims, argues or suspects, told as a fact."""
    match = _OPINION.search(quote.text)
    if match is None or _is_told(claim):
        return None
    return LeftOut(quote.text[match.start() : match.start() + LONGEST]) if says_it(claim, quote.text[match.end() :]) else None


def attribution(claim: Statement, quote: Statement) -> LeftOut | None:
    """What somebody says, told without saying who says it."""
    match = _ATTRIBUTED.search(quote.text)
    if match is None or _is_told(claim):
        return None
    return LeftOut(quote.text[match.start() : match.start() + LONGEST].lstrip(" ,.;")) if says_it(claim, quote.text) else None
