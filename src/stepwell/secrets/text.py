"""Removes secrets from running text: those of a known form (API keys, tokens, private keys, `Authorization`, cookies, keys in URLs),
those that follow their name (`OPENAI_KEY=...`, `"password": "..."`), and those that are known to be secret because a run received them
(`values.secret_values`).

For text that leaves the program: errors of graphs, and every line of the log. It is the last line of defence, not the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

from stepwell.secrets.names import is_secret, is_secret_parameter

HIDDEN = "[hidden]"

_Instead = str | Callable[[re.Match[str]], str]

_SHORTEST = 9
"""A secret together with its name is never shorter than this, so shorter texts (ids, single words) are not searched."""
_SHORTEST_HIDDEN = 6
"""Shorter values are not removed from texts: that would delete parts of ordinary words."""
_SHORT = 200
_LONGEST_WORD = 12
_MAY_HOLD_ONE = re.compile(
    r"[=@]|[:,]\s?b?[\"']|(?i:bearer|authorization|x-api-key|hooks\.slack|/api/webhooks)|-----BEGIN|cashu[AB]|nsec1|[xyz]prv|eyJ|[spr]k[-_]|"
    r"sw_|AIza|AKIA|ASIA|ya29|gsk_|hf_|xai-|tvly-|gh[opsur]_|github_pat|glpat-|xox|xapp-|lsv2_|npm_|pypi-|SG\.|dop_|shp|ntn_|lin_api|figd_|"
    r"hvs\.|dapi|pplx-|r8_|whsec_"
)
"""If this does not match, no form can match, so most texts need only this one search."""


_HERE: ContextVar[frozenset[str]] = ContextVar("stepwell_secrets_here", default=frozenset())


@contextmanager
def hiding(secrets: Iterable[str]) -> Iterator[None]:
    """Hide these secrets too, whatever their form, in every text that passes `hide_secrets` inside the block and in what it starts."""
    before = _HERE.set(_HERE.get() | {secret for secret in secrets if len(secret) >= _SHORTEST_HIDDEN})
    try:
        yield
    finally:
        _HERE.reset(before)


def hidden_here() -> frozenset[str]:
    """The secrets of the blocks of `hiding` around this code. For text that another thread writes, which is outside these blocks."""
    return _HERE.get()


def hide_secrets(text: str, known: Collection[str] = ()) -> str:
    """The text without secrets of a known form, without the `known` ones, and without those that are hidden here (`hiding`)."""
    if here := _HERE.get():
        known = here.union(known)
    if known:
        for secret in sorted(known, key=len, reverse=True):  # longest first: a secret may be part of another
            text = text.replace(secret, HIDDEN)
    return _hide_in_short(text) if len(text) <= _SHORT else _hide_forms(text)


def _hide_forms(text: str) -> str:
    if len(text) < _SHORTEST or not _MAY_HOLD_ONE.search(text):
        return text
    for form, instead in _FORMS:
        text = form.sub(instead, text)
    return text


_hide_in_short = lru_cache(maxsize=4096)(_hide_forms)
"""Every checkpoint and every chunk of a message has the same metadata, so we cache the result."""


def without_keys(text: str) -> str:
    """The text with a space in place of each key of a known form, for texts whose words must make sense without the keys."""
    for form in (_OUR_KEY, _JWT, _SK_KEY, _PROVIDER_KEY, _CASHU_TOKEN, _WALLET_KEY):
        text = form.sub(" ", text)
    return text


def secrets_of_address(text: str) -> Iterator[str]:
    """If the text is a URL: its password, and the values of its parameters that are keys."""
    if "://" not in text:
        return
    try:
        parts = urlsplit(text.strip())
        password = parts.password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)
    yield from (value for name, value in parse_qsl(parts.query) if is_secret_parameter(name))


def _hide_parameter(found: re.Match[str]) -> str:
    # `state` belongs to a sign-in and may be anything elsewhere, but running text does not show where it comes from.
    mark, name, _ = found.groups()
    return f"{mark}{name}={HIDDEN}" if name.casefold() == "state" or is_secret_parameter(name) else found[0]


def _hide_named(found: re.Match[str]) -> str:
    name, value = found.groups()
    return f"{name}={HIDDEN}" if is_secret(name, value) and not _is_plain_word(value) else found[0]


def _hide_quoted(found: re.Match[str]) -> str:
    name, between, quote, value = found.groups()
    return f"{name}{between}{quote}{HIDDEN}" if is_secret(name, value) and not _is_plain_word(value) else found[0]


def _is_plain_word(value: str) -> bool:
    """Whether a value is an ordinary word: `STEPWELL_AUTH=required` is a setting, not a key. It may end a sentence."""
    value = value.removesuffix(".")
    return value.isascii() and value.isalpha() and value.islower() and len(value) < _LONGEST_WORD


# Keys by the prefixes that their makers give them, so that leaked keys can be found.
_OUR_KEY = re.compile(r"\bsw_([0-9a-f]{12})_[A-Za-z0-9_-]{20,}")
_JWT = re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*")
_SK_KEY = re.compile(r"\b((?:sk|pk|rk)-(?:[a-z]+-)*|(?:sk|pk|rk)_(?:live|test)_)[A-Za-z0-9_-]{20,}")
_PROVIDER_KEY = re.compile(
    r"\b(AIza|AKIA|ASIA|ya29\.|gsk_|hf_|xai-|tvly-|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|lsv2_|npm_|pypi-AgE|SG\.|"
    r"dop_v1_|shpat_|shpss_|ntn_|lin_api_|figd_|hvs\.|dapi|pplx-|r8_|whsec_)[A-Za-z0-9_.-]{12,}"
)
# Money and identities: anyone who reads a Cashu token can spend it; private keys of Nostr and of wallets.
_CASHU_TOKEN = re.compile(r"\b(cashu[AB])[A-Za-z0-9_+/-]{20,}={0,2}")
_WALLET_KEY = re.compile(r"\b(nsec1|[xyz]prv)[0-9A-Za-z]{50,}")

_FORMS: tuple[tuple[re.Pattern[str], _Instead], ...] = (
    (_OUR_KEY, rf"sw_\1_{HIDDEN}"),
    (_JWT, HIDDEN),
    (
        re.compile(r"(?i)\b((?:proxy-)?authorization[\"']?\s*[:=,]\s*b?[\"']?\s*(?:bearer|basic)\s+)[^\s\"',;)]+"),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"(?i)\b(x-api-key[\"']?\s*[:=,]\s*b?[\"']?\s*)[^\s\"',;)]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)\b(stepwell_(?:session|sign_in)=)[^\s\"';,]+"), rf"\1{HIDDEN}"),
    (re.compile(r"([?&;])([A-Za-z0-9_.%-]{2,60})=([^\s\"'&#;]+)"), _hide_parameter),
    # A password before the host of a URL; it may contain an '@' itself.
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'?#]{0,100}:)[^\s/\"'?#]{1,500}(?=@)"), rf"\1{HIDDEN}"),
    (_SK_KEY, rf"\1{HIDDEN}"),
    (_PROVIDER_KEY, rf"\1{HIDDEN}"),
    (_CASHU_TOKEN, rf"\1{HIDDEN}"),
    (_WALLET_KEY, rf"\1{HIDDEN}"),
    (
        re.compile(
            r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)"
            r"(?:[^-]{0,10000}-----END [A-Z ]{0,30}PRIVATE KEY-----|[A-Za-z0-9+/=\s\\]{0,10000})"
        ),
        rf"\1{HIDDEN}",
    ),
    # URLs that are keys themselves.
    (re.compile(r"(?i)\b(hooks\.slack\.com/services/)[A-Za-z0-9_/-]{10,}"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)\b(discord(?:app)?\.com/api/webhooks/\d+/)[A-Za-z0-9_-]{10,}"), rf"\1{HIDDEN}"),
    # A name and its value, as printed for environments, dictionaries and calls.
    (re.compile(r"\b([A-Za-z][A-Za-z0-9_]{1,60})=([^\s\"'&;,()\[\]{}]{6,})"), _hide_named),
    (re.compile(r"\b([A-Za-z][A-Za-z0-9_.-]{1,60})([\"']?\s?[:=]\s?b?)([\"'])((?:(?!\3)[^\n]){3,4000})(?=\3)"), _hide_quoted),
)
