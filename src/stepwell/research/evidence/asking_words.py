"""The words and phrases by which people ask, for `asked.py` and `queries.py`: English in full, German, French and Spanish in part.

Patterns are tried at the beginning of a text or on its few joints; none has nested repetition, so a long question costs little.
"""

from __future__ import annotations

import re

from stepwell.words import stem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


PUNCTUATION = " \t.,;:!?¿¡…()[]{}<>\"'“”„‘’«»"

LEADS = _any(
    r"(?:please|kindly|hi|hello|hey|thanks|bitte|hallo|s'il (?:vous|te) pla[iî]t|por favor)\b[,:!]?\s*",
    r"(?:can|could|would|will) (?:you|someone|anybody|anyone) (?:please )?(?=\w)",
    r"(?:i|we)(?:'d| would)? (?:like|want|need|love) to (?:know|understand|learn|find out)(?: about| more about)?\b\s*",
    r"(?:i|we)(?:'m| am|'re| are)? (?:wonder|wondering|curious|asking|interested)(?: about| in| to know)?\b\s*",
    r"(?:i|we)(?:'ve| have)? (?:recently |often |always )?(?:heard|read|been told|learned|learnt) (?:that |about )?",
    r"(?:people|many|some|they|experts) (?:say|claim|believe|think) (?:that )?",
    r"(?:do|does|did) (?:you|anyone|anybody) (?:know|happen to know)\b\s*",
    r"(?:tell|show|give|help) (?:me|us)(?: about| understand| an overview of| a summary of| an explanation of)?\b\s*",
    r"(?:explain|describe|summari[sz]e|outline|discuss|investigate|research|examine|analy[sz]e|assess|evaluate|review|study|list"
    r"|look (?:up|into|at|for)|find(?: out)?|search(?: for)?|check)(?: to me| me| about| for me)?\b\s*(?!\s*of\b)",
    r"(?:write|prepare|make|create|draft) (?:me )?(?:an? |the )?(?:\w+ )?(?:report|overview|summary|essay|article|brief|briefing)"
    r" (?:on|about|of)\s+",
    r"(?:an? )?(?:overview|summary|explanation) of\s+",
    r"(?:is it|isn't it|was it) (?:really |actually |in fact )?(?:true|correct|right|a fact|the case) that\s+",
    r"(?:what|which) (?:is|are) (?:the )?(?:evidence|proof) (?:for|that)\s+",
    r"what(?: is|'s) (?:known|there to know) about\s+",
    r"what (?:do|does|did) (?:the |different |most |recent |scientific )*"
    r"(?:sources|experts|scientists|researchers|studies|research|papers|literature|evidence|people)"
    r" (?:say|tell us|tell|show|suggest|think|find|report) (?:about|on|of)\s+",
    r"what about\s+|(?:whether|if)\s+(?=\w+ \w+)",
    r"(?:and|but|or|so|also|then|und|aber|et|mais|y|pero)\b,?\s+",
    r"(?:stimmt es|ist es (?:wahr|richtig)|trifft es zu),? dass\s+",
    r"(?:ich|wir) (?:m[öo]chten?|will|wollen) (?:gern |gerne )?wissen,?\s*",
    r"(?:erkl[äa]re?|sag|sage|erz[äa]hle?)(?: mir| uns)?(?: bitte)?,?\s+",
    r"was (?:wei[ßs] man|ist bekannt) [üu]ber\s+|was sagen (?:die )?(?:quellen|studien|experten) (?:zu|zur|zum|[üu]ber)\s+",
    r"est-ce que\s+|est-il (?:vrai|exact) que?\s*|(?:je|nous) (?:voudrais|voudrions|veux|aimerais) savoir\s+",
    r"expliquez(?:-moi)?\s+|que disent les (?:sources|[ée]tudes) (?:sur|de)\s+",
    r"es (?:cierto|verdad) que\s+|(?:quiero|quisiera|me gustar[íi]a) saber\s+|expl[íi](?:ca|que)(?:me)?\s+",
    r"qu[ée] dicen (?:las|los) (?:fuentes|estudios) (?:sobre|de)\s+",
)
"""Talk before what is asked. Taken off again and again: "Please tell me: is it true that ..."."""

TAILS = _any(
    r",?\s(?:please|in (?:simple terms|detail|short|brief|a few words|plain english)|step by step|for me|to me|exactly|in general"
    r"|with (?:sources?|references|citations)|if at all|according to (?:sources|experts)"
    r"|for (?:a|my) (?:school )?(?:project|homework|paper|essay)|bitte|genau|mit quellen|por favor|s'il vous pla[iî]t)$"
)
"""Talk behind what is asked."""

CHATTER = _any(
    r"(?:(?:what|which|where|how|do|does|did|and|is|are)\s+)*(?:the |different |those |these |your |good |reliable )*"
    r"(?:(?:sources?|they|experts|studies|scientists|opinions)\s+(?:say|disagree|agree|differ|give|state|report|support|confirm)\b"
    r"(?!\s+(?:about|on|of)\s+(?!it\b|this\b|that\b)).*|sources?(?: (?:are|is) there)?)",
    r"(?:is|was) (?:that|this|it) (?:really |actually )?(?:true|right|correct|so|a myth|the case)",
    r"what (?:do|does) (?:the )?(?:evidence|science|research|literature|data) (?:say|show)(?: about (?:it|this|that))?",
    r"(?:check|verify|test|fact-check|examine|assess)(?: (?:this|that|the|it))?(?: claims?| statements?)?",
    r"why|why not|how|how so|what else|anything else|thanks?(?: you)?(?: (?:a lot|very much|in advance))?",
    r"(?:give|show|provide|include|cite|list|name|use|add|weigh)\b(?: me| us)?\s*(?:the |your |all |good |reliable |some )*"
    r"(?:sources?|references|links|citations|evidence|arguments?|examples|details)\b.*",
    r"(?:with )?(?:sources?|references|citations|evidence)",
    r"(?:the |some )*(?:evidence|arguments?|reasons|facts) (?:for and against|on both sides|either way)(?: it| this)?",
    r"(?:answer|reply|write|keep|be)\b.*\b(?:sentences?|words|brief|short|paragraphs?|bullet points|english|simple)\b.*",
    r"was sagen (?:die )?(?:quellen|experten|studien)(?: dazu| dar[üu]ber)?|(?:und )?wo (?:widersprechen|unterscheiden) sie sich",
    r"stimmt das|ist das (?:wahr|richtig)|(?:mit|nenne) quellen",
    r"que disent les (?:sources|[ée]tudes|experts)|est-ce vrai|(?:et )?o[ùu] (?:divergent|se contredisent)-(?:elles|ils)",
    r"(?:y )?(?:qu[ée] dicen (?:las|los) (?:fuentes|estudios|expertos)|es (?:cierto|verdad)|en qu[ée] discrepan)",
)
"""A whole part that asks for nothing which can be searched for."""

CLAIM = _any(
    r"\b(?:true|myth|fact|really|actually|case) that\b",
    r"\b(?:is|was) (?:that|this|it) (?:really |actually )?(?:true|right|correct|a myth)\b",
    r"\b(?:i|we)(?:'ve| have)? (?:heard|read|been told)\b|\b(?:people|many|some|they) (?:say|claim|believe)\b|\bwhether\b",
    r"\bmyth or fact\b|\b(?:check|verify|fact-check)\b.*\bclaims?\b|\bfact or (?:myth|fiction)\b",
    r"\bstimmt (?:es|das)\b|\bist (?:es|das) (?:wahr|richtig)\b|\best-(?:il|ce) vrai\b|\bes (?:cierto|verdad)\b",
)

_AND = r"(?:and|or|but|as well as|und|oder|sowie|et|ou|y|o|e)"
_ASKS = (
    r"(?:(?:in|on|at|for) (?:what|which)|by whom|since when|por qué|who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does"
    r"|did|can|could|should|will|would|has|have|had|wer|wen|wem|welche[rsn]?|wann|wo|warum|wieso|wie|wieviel|ist|sind|hat|haben|kann"
    r"|qui|quoi|quels?|quelles?|quand|où|pourquoi|comment|combien|est|quién(?:es)?|qué|cuál(?:es)?|cuándo|dónde|cómo|cuánt[oa]s?)\b"
)
JOINT = _any(rf"\s?;\s?|:\s(?={_ASKS})|(?:,(?:\s{_AND})?|\s{_AND})\s(?={_ASKS})")
"""Between two questions in one sentence."""
PAIR = _any(r"\s(?:and|or|und|oder|et|ou|y|o)\s")

PRONOUN = _any(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|this|these|those|there",
    r"er|ihn|ihm|sein|seine|ihr|ihre|es|sie|davon|daf[üu]r|diese[rsmn]?|dies",
    r"elle|il|ils|elles|cela|ça|celui-ci|[ée]l|ella|ellos|ellas|eso|esto)\b",
)
PERSON = _any(r"\b(?:he|him|his|she|her)\b")
WHO = _any(r"who(?:\s(?:is|are|was|were))?\s(?:the\s|an?\s)?")
WHAT_IS = _any(
    r"(?:what|which)(?:'s|\s(?:is|are|was|were))\s",
    r"who(?:'s|\s(?:is|are|was|were))\s(?=(?:the|an?)\s)",
    r"what\s(?:an?\s|the\s)?(?=.+\s(?:is|are|was|were|means)$)",
    r"was\s(?:ist|sind|waren?)\s|wer\s(?:ist|sind|war)\s(?=(?:der|die|das)\s)",
    r"quel(?:le)?s?\s(?:est|sont)\s|qu'est-ce que?\s(?:c'est que\s)?|qu[ée]\s(?:es|son)\s|cu[áa]l(?:es)?\s(?:es|son)\s",
)
WHAT_DOES = _any(r"(?:what|which)\s(?:do|does|did)\s")
WHAT = _any(r"(?:what|which)\s")
IS_AT_END = _any(r"\s(?:is|are|was|were|means)$")
HOW_TO = _any(r"(?:how|what) (?:do|can|could|should|would|must|may) (?:i|we|you|one|people)\s")
IN_WHAT = _any(r"(?:in|on|at|for|from|by|to)\s(?=(?:what|which|whom)\b)")
YES_NO = _any(
    r"(?:is|are|was|were|do|does|did|can|could|will|would|has|have|should|ist|sind|kann|können|hat|macht|hilft|soll|sollten?)\b"
)
SHOULD = _any(r"(?:should|soll|sollten?|faut-il|doit-on|deberían?)\b")
ARTICLE = _any(r"(?:an?|the|der|die|das|den|dem|ein|eine|le|la|les|une?|el|los|las|una)\s|l'")

VERSUS = _any(
    r"\s(?:vs\.?|versus|compare[sd]? (?:to|with|against)|gegenüber|verglichen mit|besser als"
    r"|(?:better|worse|more|less|safer|cheaper|faster|healthier|cleaner|stronger) than(?!\s\d))\s"
)
BETWEEN = _any(
    r"\b(?:differences? between|compare|comparison (?:of|between)|(?:choose|choosing|decide) between|unterschied zwischen"
    r"|vergleiche?|différence entre|diferencia entre)\s(\S.{0,299}?)\s(?:and|with|to|or|und|mit|oder|et|y)\s(.+)"
)
SAME = _any(r"\b(?:same|both|older|younger|earlier|later|first|more|larger|bigger|longer|taller|higher|oldest|common)\b")
CONTEXT = _any(r"\s(?:for|in|on|as|with|when|if|over|für|bei|pour|dans|para|en)\s(?=\S)")
NESTED = _any(r"\bof\s(?:the\s|an?\s)?((?:[\w'’-]+\s){1,3}(?:of|in|from)\s.+)")
RELATIVE = _any(r"\b(?:the|an?)\s((?:[\w'’-]+\s){0,2}?[\w'’-]+)\s(?:who|that|which|where|whose|whom)\s(.+)")
STUDIES = _any(
    r"\b(?:stud(?:y|ies) (?:say|show|find|suggest|on|of|about)|studies|papers|(?:clinical|randomi[sz]ed|controlled) trials?"
    r"|meta-analys[ei]s|systematic reviews?|peer[- ]reviewed|preprints?|scientific (?:evidence|literature)|studien|études|estudios)\b"
)
"""A question that asks for papers."""

YEAR = re.compile(r"\b(?:1[0-9]|20|21)\d\d\b")
ABBREVIATED = re.compile(r"\b[A-Za-z]\.$")
QUOTED = re.compile(r"\"([^\"]{2,80})\"|“([^”]{2,80})”|„([^“”]{2,80})[“”]|«\s?([^»]{2,80}?)\s?»")

ARTICLES = _words(
    "a an the this that these those der die das den dem des ein eine einen einem einer le la les l un une el los las una"
)
LINKS = {
    "en": _words("of the de la le du del della von van der den di da for v v. vs &"),
    "de": _words("von van am an ob zu &"),
    "fr": _words("de la le du des d' l' &"),
    "es": _words("de la los las del el y &"),
}
"""Small words inside a name, by language."""
VERBS = frozenset(
    stem(verb)
    for verb in _words(
        "be become have do make cause help work reduce increase improve spoil cost last affect change lead prevent need use contain "
        "live eat grow require say mean happen matter die design designed build built invent write wrote written find found win won "
        "fight fought give take get go come keep let begin start stop run move play turn follow create open offer consider appear buy "
        "serve send stay fall cut reach kill remain raise pass sell decide return explain develop carry break receive agree support "
        "hit produce cover cure treat damage harm protect save stand hold held publish publishes discover overturn resent leverage "
        "enhance enter apply exist portray born educate pay earn measure rise drop compare differ "
        "choose fail failed expect blame learn contribute tell think believe hear call show"
    )
)
EFFECTS = frozenset(
    stem(verb)
    for verb in _words(
        "cause prevent cure help reduce increase improve work damage harm protect treat kill make lead affect boost lower"
    )
)
"""Verbs by which a question claims an effect."""
JUDGED = _words(
    "good bad better best worse worst safe unsafe dangerous harmful healthy unhealthy effective efficient useful useless worth fair "
    "unfair right wrong reliable sustainable ethical overrated beneficial risky viable profitable "
    "gut schlecht besser sicher gefährlich gesund ungesund wirksam effizient sinnvoll schädlich nützlich "
    "bon bonne mauvais mauvaise meilleur sûr dangereux sain efficace utile nocif "
    "bueno buena malo mala mejor seguro peligroso sano eficaz útil"
)
FIRST_WORDS = _words(
    "who whom whose what which when where why how is are was were do does did can could should will would has have had if "
    "wer was wann wo warum wie ist sind hat haben kann soll sollte wird welche welcher welches "
    "qui que quand où pourquoi comment combien est quel quelle quién qué cuándo dónde cómo cuánto cuál"
)
"""Written small at the beginning of a query."""
MEANT = _words("die war hat")
"""Function words of other languages that mean something in English."""
EMPTY = _words(
    "how why what's who's how's there anything something thing things question answer information info whether really actually "
    "exactly please main kind sort way ways happened next else also "
    "was wie warum wer wann wo welche welcher welches gibt wieso quel quelle quels quelles comment pourquoi quand où combien cela "
    "qué cuál cuáles cómo cuándo dónde quién cuánto"
)
"""Words that mean nothing alone."""
LOST = _words(
    "please tell me explain describe know like want wonder give show find research overview various several certain currently "
    "consider considering regarding concerning terms important possible given using based related potential specific well "
    "bitte erkläre sage sag mir"
)
"""Words that a long question can do without."""
FRAME = frozenset(
    stem(word)
    for word in _words(
        "source page article document text site website link address url report paper one two both each other another first second "
        "compare comparison contrast difference differ different agree disagree contradict contradiction similar say tell state claim "
        "mean mention come came origin trace write wrote written author authors publish publisher date dated when where who rest based "
        "summary summarise summarize summarising explain explanation read check verify trust reliable point points key content contents "
        "quelle quellen seite seiten artikel vergleiche vergleich unterschied widersprechen geschrieben autor stammt beruht "
        "comparer compare différence auteur écrit fuente fuentes página compara comparar diferencia autor escribió"
    )
)
"""Words, by stem, of a question about pages that came with it. They are no subject to search for: who wrote this page, where do the two
differ."""
SPOKEN = {
    "en": _words("the of is are was what how who why when does did to it"),
    "de": _words("der die das und ist sind wie was warum welche wer wann ein eine für mit nicht stimmt dass hat den wo nie"),
    "fr": _words("le les des du est sont quel quelle comment pourquoi qui une pour avec dans et la que ne pas jamais combien"),
    "es": _words("el los las es son qué cuál cómo por quién una para con del y la que cuánto nunca"),
}
MYTH = {"en": "myth", "de": "Mythos", "fr": "idée reçue", "es": "mito"}
CRITICISM = {"en": "criticism", "de": "Kritik", "fr": "critiques", "es": "críticas"}
AGAINST = {"en": "arguments against", "de": "Argumente dagegen", "fr": "arguments contre", "es": "argumentos en contra"}
