"""What is wrong with a key, as far as its text shows it. Nothing is sent, and no sentence contains the key."""

from __future__ import annotations

import re

from stepwell.models.probe.result import Problem
from stepwell.models.provider_guide import ProviderGuide
from stepwell.settings import Secret

_OWNERS = (
    ("sk-ant-", "anthropic", "Anthropic"),
    ("sk-or-", "openrouter", "OpenRouter"),
    ("sk-proj-", "openai", "OpenAI"),
    ("sk-svcacct-", "openai", "OpenAI"),
    ("AIza", "google_genai", "Google Gemini"),
    ("gsk_", "groq", "Groq"),
    ("xai-", "xai", "xAI"),
    ("hf_", "huggingface", "Hugging Face"),
    ("pplx-", "perplexity", "Perplexity"),
    ("sw_", "stepwell", "a Stepwell server"),
    ("sk-", "openai", "OpenAI"),
)
"""How keys start, the longest first, with the provider that issues them."""
_SHARED = {"sk-": ("openai", "deepseek")}
"""Beginnings that keys of several providers have."""
_PLACEHOLDER = re.compile(
    r"^<.*>$|your[-_ ]?(?:api|key|own|secret|token|openai|anthropic)|change[-_]?me|placeholder|x{6}|insert[-_ ]|[-_]here$"
    r"|^(?:todo|none|null|dummy|test|fake|secret|key|api[-_]?key)$",
    re.IGNORECASE,
)
_SHORTEST = 16
"""Half as long as the shortest keys of the providers we know."""
_QUOTES = "\"'`“”‘’«»"
_ASSIGNMENT = re.compile(r"^(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=")


def key_problem(guide: ProviderGuide, key: Secret | None, *, own_address: bool) -> Problem | None:
    """What is wrong with a key. `own_address`: it goes to an address of the user's, where keys of any form may be valid."""
    text = key.reveal() if key else ""
    if not text.strip():
        return Problem("key_missing", _missing(guide)) if guide.needs_key else None
    fault = _fault(text)
    if fault:
        return Problem("key_malformed", fault)
    if not own_address and guide.needs_key and _PLACEHOLDER.search(text):
        return Problem("key_malformed", "This is a placeholder from an example, not a key. Enter your own key.")
    if not own_address and guide.needs_key and len(text) < _SHORTEST:
        return Problem("key_malformed", "The key is too short: a part of it is missing. Copy the whole key again.")
    owner = None if own_address or not guide.needs_key else _owner(text, guide.id)
    if owner is None or owner[0] == guide.id:
        return None
    wanted = f"enter a key that {guide.key_hint}" if guide.key_hint else f"enter a key of {guide.title}"
    return Problem(
        "key_of_another_provider",
        f"This looks like a key of {owner[1]}, not of {guide.title}. Choose {owner[1]} as the provider, or {wanted}.",
    )


def _missing(guide: ProviderGuide) -> str:
    form = f" It {guide.key_hint}." if guide.key_hint else ""
    page = f" Get one at {guide.key_page}" if guide.key_page else " Enter one."
    return f"{guide.title} needs a key, and none was given.{form}{page}"


def _fault(text: str) -> str | None:
    bare = text.strip()
    if bare[0] in _QUOTES or bare[-1] in _QUOTES:
        return "The key has quotation marks around it. Enter it without them."
    if _ASSIGNMENT.match(bare):
        return "This is a line of a settings file, not a key. Enter only the part after the equals sign."
    if bare.lower().startswith("bearer "):
        return "The key has the word 'Bearer' in front. Enter only the part after it."
    if text != bare or any(character.isspace() for character in text):
        return "The key has spaces or line breaks in it or around it. Copy it again, alone."
    if "…" in text or "..." in text or "*" in text:
        return "This is the shortened form of a key, as lists show it. Enter the whole key; if you no longer have it, make a new one."
    if not (text.isascii() and text.isprintable()):
        return "The key contains characters that no key has. Copy it again from where you got it."
    return None


def _owner(text: str, wanted: str) -> tuple[str, str] | None:
    for start, provider, title in _OWNERS:
        if text.startswith(start):
            return None if wanted in _SHARED.get(start, ()) else (provider, title)
    return None
