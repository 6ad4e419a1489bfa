"""Word families: `produced`, `producer` and `production`, `centre` and `center`, `wrote` and `written`.

A root is cruder than a stem and only tells whether a text is about the same thing at all. It is not a word, and it does not tell which
way a statement goes, so other modules check what reverses a meaning (opposites, negations, who did it to whom).
"""

from __future__ import annotations

import re
from functools import lru_cache

from stepwell.words import fold, stem

_IRREGULAR_FORMS = (
    "act actor actress|be been being|bear bore born birth|beat beaten|become became|begin began begun|bind bound|"
    "bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built|buy bought|"
    "catch caught|choose chose chosen choice|cling clung|come came|creep crept|deal dealt|die dies died dying death dead|"
    "dig dug|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|"
    "fight fought|find found|flee fled|fly flew flown flight|forbid forbade forbidden|forget forgot forgotten|"
    "freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown growth|hang hung|hear heard|"
    "hide hid hidden|hold held|keep kept|know knew known knowledge|lay laid|lead led|leave left|lend lent|lie lain|"
    "live lives lived living life|lose lost loss|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung|"
    "rise rose risen|run ran|say said|see saw seen|seek sought|sell sold sale|send sent|shake shook shaken|shine shone|"
    "shoot shot|show shown|shrink shrank shrunk|sing sang sung song singer|sink sank sunk|sit sat|sleep slept|slide slid|"
    "speak spoke spoken speech|spend spent|spin spun|stand stood|steal stole stolen|stick stuck|strike struck|"
    "strive strove|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|"
    "tell told|think thought|throw threw thrown|understand understood|wake woke woken|wear wore worn|weave wove woven|"
    "win won|wind wound|write wrote written writer|man men|woman women|child children|foot feet|tooth teeth|mouse mice|"
    "try tries tried trying|destroy destroyed destroying destruction destructive|believe belief|"
    "prove proved proven proof|relieve relief|"
    "advise advice|serve served service|depart departure|fail failure|sign signed signature|arrive arrived arrival|survive survival|"
    "approve approved approval|refuse refused refusal|deny denied denial|bury buried burial|apply applied application applicant|"
    "supply supplied|vary varied variation|describe described description|receive received reception receipt|"
    "permit permitted permission|admit admitted admission|submit submitted submission|succeed succeeded success successful|"
    "defend defended defence defense|offend offence offense offender|respond responded response|"
    "compete competed competition competitor|"
    "repeat repetition|define definition|oppose opposed opposition opponent|compose composed composition composer|"
    "expose exposed exposure|"
    "propose proposed proposal|acquire acquired acquisition|inquire inquiry enquiry|conquer conquered conquest|pursue pursued pursuit|"
    "maintain maintenance|retain retention|detain detained detention|explain explained explanation|proclaim proclamation|"
    "reveal revelation|abolish abolition|demolish demolished demolition|publish published publication publisher|absorb absorption|"
    "resume resumption|consume consumption consumer|assume assumption|invade invaded invasion|explode exploded explosion|"
    "divide divided division|collide collided collision|conclude concluded conclusion|expand expansion|young youth|"
    "poor poverty|free freedom|"
    "inherit inheritance heir|hate hatred|criticise criticize criticism critic|ill illness|injure injured injury|rob robbery robber|"
    "steal theft thief|discover discovery|recover recovery|deliver delivery|perform performance performer|govern government governor|"
    "enter entry entrance|vote voter|elect election elected|lead leader leadership|own owner ownership|member membership|"
    "person people|analysis analyses|crisis crises|marry married marriage|lay layer|strong strength|long length|wide width|"
    "deep depth|high height|week weekly|month monthly|day daily|year yearly annual annually"
)
_IRREGULAR = {form: stem(group.split()[0]) for group in _IRREGULAR_FORMS.split("|") for form in group.split()}
_DERIVED_ENDINGS = (
    "isational izational ational isation ization fulness iousness ousness iveness ically ation ition ement ment ness ality "
    "ivity ility ity ional ion ical ably ibly able ible ally ial ual al ious ous ive ance ence ancy ency ant ent atory "
    "ator ory er or ist ism ian ful ly iou ou iv ate at ize iz ic"
)
_DERIVATIONS = tuple(_DERIVED_ENDINGS.split())
_SHORTEST = 4
_SPELLINGS = (
    (re.compile(r"(?<=[a-z]{2})our(?=s|$|ed|ing|ful|ite|abl)"), "or"),
    (re.compile(r"(?<=[a-z][bt])re(?=s?$)"), "er"),
    (re.compile(r"(?<=[a-z]{3})is(?=e$|ed$|es$|ing$|ation|er$)"), "iz"),
    (re.compile(r"[ao]e(?=[a-z]{3})"), "e"),
    (re.compile(r"(?<=[a-z]{2})ll(?=ed$|ing$|er$|s?$)"), "l"),
)
"""British and American spellings. Claims and quotes are both rewritten with these, so it does not matter which spelling is right."""


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """What the words of a family have in common. Pure. The cache saves most of the computing time, because texts repeat their words."""
    folded = fold(word)
    if folded in _IRREGULAR:
        return _IRREGULAR[folded]
    for form, same in _SPELLINGS:
        folded = form.sub(same, folded)
    bare = folded if folded.endswith("ly") else stem(folded)
    if bare in _IRREGULAR:
        return _IRREGULAR[bare]
    if folded.endswith("y") and bare + "y" == folded:
        bare = folded  # "ity" and "ly" are separate endings
    for _ in range(2):
        bare = _shorten(bare)
    bare = bare[:-1] if bare[-1:] in ("y", "e", "i") and len(bare) > _SHORTEST else bare
    return bare[:-1] if bare.endswith(("ct", "pt")) and len(bare) > _SHORTEST else bare


def _shorten(bare: str) -> str:
    if bare.endswith("sion") and len(bare) - 4 >= _SHORTEST - 1:
        return bare[:-4] + "d"  # "expansion" and "expand", "decision" and "decide"
    for ending in _DERIVATIONS:
        if bare.endswith(ending) and len(bare) - len(ending) >= _SHORTEST:
            return bare[: -len(ending)]
    return bare


def pieces(word: str) -> list[str]:
    """The parts of a word with hyphens or slashes, then all of them joined, because `e-mail` may also be written as one word."""
    parts = [part for part in re.split(r"[-/]", word) if part]
    return [*parts, "".join(parts)] if len(parts) > 1 else [word]
