"""What a text contains: whether words are a user's own, bring evidence, redefine a term, ask something, or ask to be told.

These rules look at words, not at meaning: each can be explained in a sentence, gives the same verdict every time, and no model can
talk its way past it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

TELL_COMMAND = "/tell"
TELL_PHRASES = (
    "just tell me",
    "tell me the answer",
    "give me the answer",
    "give me an answer",
    "just want the answer",
    "only want the answer",
    "just answer",
    "write it for me",
    "say it for me",
    "write the thesis for me",
    "write my thesis for me",
    "write the claim for me",
    "write my claim for me",
    "write the reply for me",
    "write my reply for me",
    "i give up",
    "nur die antwort",
    "einfach die antwort",
    "sag mir die antwort",
    "sag mir einfach",
    "sag es mir",
    "sag's mir",
    "gib mir die antwort",
    "ich gebe auf",
    "dis-moi la réponse",
    "donne-moi la réponse",
    "dime la respuesta",
    "dame la respuesta",
)
"""What counts as asking to be told, besides `/tell`, anywhere in a user's own message."""
ALONE_PHRASES = (
    "idk",
    "dunno",
    "i don't know",
    "i dont know",
    "i do not know",
    "don't know",
    "no idea",
    "i have no idea",
    "tell me",
    "you tell me",
    "the answer",
    "answer",
    "ich weiß nicht",
    "ich weiß es nicht",
    "weiß nicht",
    "weiss nicht",
    "keine ahnung",
    "die antwort",
    "antwort",
    "je ne sais pas",
    "aucune idée",
    "no sé",
    "no lo sé",
    "ni idea",
)
"""What counts only if the message says nothing else: "I don't know anybody who cycles in winter" is a reason."""
_REFUSING = ("don't", "dont", "do not", "never", "not", "nicht", "nie")

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ADDRESS = re.compile(r"(?:https?://|www\.|doi:)\S+", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“”„]([^\"“”„]{1,400})[\"“”„]")
_ENDS, _CLOSING = ".!?？؟", '"”’)*_'
_APPEALS = (
    "according to",
    "studies show",
    "studies have shown",
    "research shows",
    "research has shown",
    "a study",
    "a survey",
    "the data show",
    "statistics show",
    "experts say",
    "scientists say",
)
_MEANING = ("means", "mean", "meant", "denotes", "signifies")
_OFFERS = (
    "your thesis could be",
    "your thesis should be",
    "your thesis might be",
    "your thesis is:",
    "thesis for you:",
    "a good thesis would be",
    "a better thesis would be",
    "a stronger thesis would be",
    "you could reply",
    "you should reply",
    "you could answer that",
    "your reply could be",
    "your reply should be",
    "your reply might be",
    "a good reply would be",
    "here is a thesis",
    "here's a thesis",
    "here is a reply",
    "here's a reply",
    "here is your thesis",
    "here is your reply",
)
_SAME_SENTENCE = 0.6
_CLOSERS = ("anything else", "does that help", "does this help", "is that ok", "is that okay", "shall we continue", "ready")


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case and with one kind of apostrophe."""
    return [word.casefold().replace("’", "'") for word in _WORD.findall(text)]


_FILLERS = frozenset(
    words_of("please bitte sorry well hmm hm um uh oh ok okay honestly really just so ehrlich einfach mal doch also pls man")
)


def is_said_in(text: str, utterances: Iterable[str]) -> bool:
    """Whether a text occurs word for word in something that a user said. Ignores case and punctuation."""
    wanted = words_of(text)
    return bool(wanted) and any(_contains(words_of(each), wanted) for each in utterances)


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return f" {' '.join(wanted)} " in f" {' '.join(words)} "


def mentions(text: str, term: str) -> bool:
    """Whether a term of one or more words occurs in a text; plurals count."""
    wanted = words_of(term)
    if not wanted:
        return False
    plain = [_singular(word) for word in words_of(text)]
    return _contains(plain, [_singular(word) for word in wanted])


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def new_evidence(text: str, known: Sequence[str]) -> str | None:
    """Evidence in a text that occurs in none of the known texts: an address, a quotation, a figure, an appeal to a source."""
    if address := _ADDRESS.search(text):
        return None if any(address[0] in each for each in known) else f"the address {address[0][:80]}"
    for quoted in _QUOTED.findall(text):
        if len(words_of(quoted)) > 3 and not is_said_in(quoted, known):
            return f"the quotation “{quoted[:80]}”"
    figures = {word for each in known for word in words_of(each) if _is_figure(word)}
    for word in words_of(text):
        if _is_figure(word) and word not in figures:
            return f"the figure {word[:40]}"
    lowered = " ".join(words_of(text))
    appeal = next((each for each in _APPEALS if f" {each} " in f" {lowered} "), None)
    return f"the appeal “{appeal}”" if appeal else None


def _is_figure(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


def redefines(text: str, terms: Iterable[str]) -> str | None:
    """The term to which a text gives its own meaning."""
    words = words_of(text)
    return next((term for term in terms if _gives_meaning(words, words_of(term))), None)


def _gives_meaning(words: list[str], term: list[str]) -> bool:
    size = len(term)
    for start in range(len(words) - size + 1) if term else ():
        if [_singular(each) for each in words[start : start + size]] != [_singular(each) for each in term]:
            continue
        before, after = words[max(0, start - 3) : start], words[start + size : start + size + 5]
        if _says_what_it_means(before, after):
            return True
    return False


def _says_what_it_means(before: list[str], after: list[str]) -> bool:
    close = after[:3]
    if any(word in _MEANING for word in close):  # "freedom means", "by freedom I mean", "freedom really means"
        return True
    if after[:2] == ["refers", "to"] or "defined" in close or after[:2] == ["stands", "for"]:
        return True
    if "understood" in close and after[:1] != ["as"]:  # "freedom, properly understood, is"
        return True
    defining = any(word in ("define", "redefine", "defining", "redefining", "understand", "understanding") for word in before)
    return defining and "as" in after


def asks_to_be_told(text: str) -> bool:
    """Whether a user's own message asks for the words themselves."""
    if text.strip().casefold().split(maxsplit=1)[:1] == [TELL_COMMAND]:
        return True
    words = words_of(text)
    said = " ".join(words)
    if " ".join(word for word in words if word not in _FILLERS) in ALONE_PHRASES or said in ALONE_PHRASES:
        return True
    for phrase in TELL_PHRASES:
        place = f" {said} ".find(f" {phrase} ")
        if place >= 0 and not said[:place].strip().endswith(_REFUSING):
            return True
    return False


def closest_saying(text: str, utterances: Iterable[str]) -> str | None:
    """The user's own sentence that a text puts into other words: most of its words, and at least three of them, are the same."""
    wanted = set(words_of(text))
    best, likeness = None, 0.0
    for each in utterances:
        for sentence in sentences_of(each):
            words = set(words_of(sentence))
            shared = len(words & wanted)
            alike = shared / len(words | wanted) if words else 0.0
            if shared >= 3 and alike > likeness and not is_question(sentence) and not asks_to_be_told(sentence):
                best, likeness = sentence.strip(), alike
    return best if likeness >= _SAME_SENTENCE else None


def count_words(text: str) -> int:
    return len(_WORD.findall(text))


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, each with the space after it, so that joining them gives the text."""
    found: list[str] = []
    start = place = 0
    while place < len(text):
        end = place + 1
        if text[place] in _ENDS:
            while end < len(text) and text[end] in _ENDS + _CLOSING:
                end += 1
            if end == len(text) or text[end].isspace():
                while end < len(text) and text[end].isspace():
                    end += 1
                found.append(text[start:end])
                start = end
        place = end
    return [*found, text[start:]] if start < len(text) else found


def is_question(sentence: str) -> bool:
    """Whether a sentence asks. Ignores a question mark inside quotation marks."""
    bare = sentence.rstrip().rstrip('*_)”"’ ')
    return bare.endswith(("?", "？", "؟")) and not sentence.rstrip().endswith(('"', "”"))


def take_questions_out(text: str) -> tuple[str, list[str]]:
    """A text without its questions, and the questions; code blocks and quoted lines stay as they are."""
    kept: list[str] = []
    asked: list[str] = []
    fenced = False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        if fenced or line.lstrip().startswith((">", "```")):
            kept.append(line)
            continue
        parts = sentences_of(line)
        asked += [part.strip(" -*#\t") for part in parts if is_question(part)]
        rest = "".join(part for part in parts if not is_question(part)).rstrip()
        if rest.strip(" -*#\t0123456789.") or not parts:
            kept.append(rest)
    return "\n".join(kept).strip(), asked


def is_closer(question: str) -> bool:
    """Whether a question only asks for the next message: "Anything else?"."""
    said = " ".join(words_of(question))
    return len(said) < 40 and any(said.startswith(each) or said.endswith(each) for each in _CLOSERS)


def take_offers_out(text: str) -> tuple[str, bool]:
    """A text without the paragraphs that offer the user the words of a thesis or a reply; and whether there were any."""
    kept = [part for part in text.split("\n\n") if not any(each in part.casefold().replace("’", "'") for each in _OFFERS)]
    return "\n\n".join(kept), len(kept) != len(text.split("\n\n"))
