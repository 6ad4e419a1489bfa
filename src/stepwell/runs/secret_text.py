"""Takes secrets out of running text: those of a known form (API keys, tokens, `Authorization`, cookies, keys in addresses), and
those that are known to be secret because a run was given them (`secret_names.secret_values`).

For what leaves the program as text: errors of graphs, and every line of the log. The last line of defence, not the first.
"""

from __future__ import annotations

import re
from collections.abc import Collection

SECRETS = "__stepwell_secrets"
"""The name in `configurable` under which a run's own secrets are known to its saver; no caller can set it."""

_HIDDEN = "[hidden]"
_PARAMETERS = (
    r"code|state|key|api[_-]?key|token|access[_-]?token|refresh[_-]?token|id[_-]?token|auth|password|passwd|secret|client[_-]?secret"
    r"|sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|subscription-key"
)
_FORMS = (
    (re.compile(r"\bsw_([0-9a-f]{12})_[A-Za-z0-9_-]{20,}"), rf"sw_\1_{_HIDDEN}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*"), _HIDDEN),
    (
        re.compile(r"(?i)\b((?:proxy-)?authorization[\"']?\s*[:=,]\s*b?[\"']?\s*(?:bearer|basic)\s+)[^\s\"',;)]+"),
        rf"\1{_HIDDEN}",
    ),
    (re.compile(r"(?i)\b(x-api-key[\"']?\s*[:=,]\s*b?[\"']?\s*)[^\s\"',;)]+"), rf"\1{_HIDDEN}"),
    (re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}"), rf"\1{_HIDDEN}"),
    (re.compile(r"(?i)\b(stepwell_(?:session|sign_in)=)[^\s\"';,]+"), rf"\1{_HIDDEN}"),
    (re.compile(rf"(?i)([?&](?:{_PARAMETERS})=)[^\s\"'&#]+"), rf"\1{_HIDDEN}"),
    # A password before the host of an address.
    (re.compile(r"\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,100}:)[^\s/@\"']+(?=@)"), rf"\1{_HIDDEN}"),
    (re.compile(r"\b((?:sk|pk|rk)-(?:[a-z]+-)*|(?:sk|pk|rk)_(?:live|test)_)[A-Za-z0-9_-]{20,}"), rf"\1{_HIDDEN}"),
    # By the beginnings that providers give their keys, so that they can be found where they should not be.
    (
        re.compile(
            r"\b(AIza|AKIA|ASIA|gsk_|hf_|xai-|tvly-|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|lsv2_)[A-Za-z0-9_-]{12,}"
        ),
        rf"\1{_HIDDEN}",
    ),
)


def hide_secrets(text: str, known: Collection[str] = ()) -> str:
    """The text without secrets of a known form, and without those that are `known`."""
    for secret in sorted(known, key=len, reverse=True):  # one may be part of another
        text = text.replace(secret, _HIDDEN)
    for form, instead in _FORMS:
        text = form.sub(instead, text)
    return text
