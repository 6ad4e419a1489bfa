"""Names that mark their value as a secret: of settings and fields, of URL parameters, of headers.

A name is read as words: `openai_api_key`, `OPENAI-API-KEY`, `openaiApiKey` and `openai_apikey_v2` are the same three words. The last word
decides, in some cases only together with the word before it (`max_tokens` and `project_key` are innocent, `access_tokens` and
`openai_key` are not). Any other key (`my_acme_key`) may be innocent or not; there the value decides: it is a secret if it looks random
(`is_secret`). `text` knows what secrets look like in running text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_RUN = re.compile(r"[A-Za-z0-9+/]{20,}")
_LONGEST_NAME = 100


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRET = _words(
    "secret secrets password passwords passwd pwd passphrase passcode passcodes passwort kennwort authorization auth bearer jwt "
    "credential credentials cred creds cookie cookies apikey apikeys dsn otp totp mnemonic nsec xprv macaroon"
)
"""Always secret as the last word."""

_VENDORS = _words(
    "openai anthropic claude google gemini azure mistral cohere groq xai deepseek openrouter together fireworks perplexity huggingface hf "
    "replicate voyage jina nvidia ollama tavily serper serpapi brave exa bing langsmith langchain langfuse stripe paypal twilio sendgrid "
    "mailgun github gh hub gitlab gl lab bitbucket jira atlassian devops ado slack discord telegram notion linear airtable aws gcp "
    "cloudflare supabase firebase pinecone weaviate qdrant elastic datadog sentry npm pypi docker heroku vercel netlify shopify"
)
_GUARDED = _words(
    "api access private secret auth authentication authorization signing signature encryption decryption session service master account "
    "storage subscription license ssh rsa pgp gpg hmac root admin client consumer shared app bot developer personal refresh id bearer "
    "csrf xsrf oauth webhook user device registration deploy"
)

_AFTER: Mapping[str, frozenset[str]] = {
    "tokens": _words("api access auth bearer id refresh session bot oauth") | _VENDORS,
    "key": _words(
        "ai api access private secret auth authentication authorization signing signature encryption decryption cipher session service "
        "server master account storage subscription license ssh ssl tls rsa aes pgp gpg hmac jwt root admin client consumer shared app bot "
        "developer personal oauth webhook deploy wallet write"
    )
    | _VENDORS,
    "keys": _words("api access private secret auth signing encryption session") | _VENDORS,
    "header": _words("auth authorization"),
    "headers": _words("auth authorization"),
    "pat": _VENDORS | _GUARDED,
    "pats": _VENDORS | _GUARDED,
    "pass": _words("db database smtp imap mail email user admin root login mysql postgres redis mongo ftp ssh vpn wifi proxy"),
    "code": _words("access auth authorization otp mfa security verification recovery backup login pass"),
    "codes": _words("otp mfa recovery backup"),
    "phrase": _words("seed recovery pass secret backup mnemonic"),
    "seed": _words("wallet totp master hd bip"),
    "string": _words("connection conn"),
    "str": _words("connection conn"),
}
"""Words that say little alone -> the words after which they are secret."""

_INNOCENT_KEYS = _words(
    "sort primary foreign public partition cache idempotency lookup group order map dict row hash index object item join composite "
    "unique natural surrogate translation message memory store thread routing route state output input result config metadata field "
    "column prop property feature experiment conversation document doc file path json xml event data context event namespace "
    "first last next previous left right up down arrow enter escape hot modifier any each per answer cluster range shard bucket surrogate"
)
"""A key with one of these words before `key` is not a secret, whatever its value, which may well be a hash; nor is `key` alone."""

_NOT_AFTER: Mapping[str, frozenset[str]] = {
    "token": _words(
        "pad padding eos bos unk mask sep cls special stop end start begin page paging continuation cursor per max min first last each "
        "new any single word image"
    ),
}
"""Words that are secret -> the words after which they are not."""

_JOINED = ("password", "passwd", "secret", "token", "apikey", "key", "pat", "credentials")
"""Endings of names written as one word: `githubtoken`, `clientsecret`."""

_TRAILING = _words(
    "v ver version value val text raw plain prod production dev development staging stage test live old new current primary secondary "
    "backup default env b hex pem der json confirmation confirm again repeat"
)
"""Suffixes that do not change the meaning: `api_token_v2`, `password_confirmation`. Digits do not count as words."""

_IN_ADDRESSES = _words(
    "key code sig signature x-amz-signature x-amz-credential x-goog-signature x-goog-credential session sessionid session_id sid "
    "phpsessionid jsessionid ticket assertion samlresponse hmac otp"
)
"""Parameters that are secret in a URL, and may be anything elsewhere."""

_INNOCENT_HEADERS = "access-control-"
"""These tell browsers what they may do: `Access-Control-Allow-Credentials` contains no credentials."""


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a value with this name is a secret, whatever it looks like."""
    words = _words_of(name)
    if not words:
        return False
    *_, before, last = ("", *words)
    if last in _SECRET:
        return True
    if last in _NOT_AFTER:
        return before not in _NOT_AFTER[last]
    return before in _AFTER.get(last, ())


def is_secret(name: str, value: object) -> bool:
    """Whether a value with this name is a secret: by the name alone, or because it may be a key by its name and looks random."""
    return is_secret_name(name) or (_may_be_key(name) and _looks_random(value))


@lru_cache(maxsize=4096)
def is_secret_parameter(name: str) -> bool:
    """Whether the value of this URL parameter is a secret."""
    return name.casefold() in _IN_ADDRESSES or is_secret_name(name) or _may_be_key(name)


def is_secret_header(name: str) -> bool:
    """Whether an HTTP header contains a key or a cookie."""
    return not name.casefold().startswith(_INNOCENT_HEADERS) and is_secret_name(name)


@lru_cache(maxsize=4096)
def _may_be_key(name: str) -> bool:
    *_, before, last = ("", "", *_words_of(name))
    return last == "key" and bool(before) and before not in _INNOCENT_KEYS


def _looks_random(value: object) -> bool:
    """Whether a value contains a run of mixed letters and digits that is too long for a name or a number."""
    if isinstance(value, list | tuple):
        return any(map(_looks_random, value))
    runs = _RUN.findall(value) if isinstance(value, str) else ()
    return any(_is_mixed(run) for run in runs)


def _is_mixed(run: str) -> bool:
    digits = sum(letter.isdigit() for letter in run)
    both_cases = not (run.islower() or run.isupper())
    return 0 < digits < len(run) and (both_cases or digits >= len(run) / 5)


def _words_of(name: str) -> list[str]:
    """The words of a name that say what it is: `API_TOKENv2` -> api, token."""
    words = [word.lower() for word in _WORD.findall(unicodedata.normalize("NFKC", name[-_LONGEST_NAME:]))]
    while len(words) > 1 and words[-1] in _TRAILING:
        words.pop()
    return [*words[:-1], *_seams(words[-1])] if words else []


def _seams(word: str) -> tuple[str, ...]:
    """Split a word that is really two words, if the first one commonly precedes secrets: `openaikey` -> openai, key."""
    for ending in _JOINED:
        first = word.removesuffix(ending)
        if first and first != word and (ending in _SECRET or first in _VENDORS or first in _GUARDED):
            return first, ending
    return (word,)
