"""Research's tools for other programs: check a bundle, check whether sentences follow from quotes. Neither needs a model or the network."""

from __future__ import annotations

import asyncio
import base64
import binascii
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from stepwell.errors import EvidenceError, InvalidRequestError
from stepwell.research.audit.evidence import Claim, Quote
from stepwell.research.audit.verdicts import verdict
from stepwell.research.http.evidence import pack_thread
from stepwell.research.http.evidence_schemas import verification_wire
from stepwell.research.service import research_of
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.schemas.fields import WireModel
from stepwell.server.served_tools import ServedTool
from stepwell.validation import describe_first_fault

MAX_CLAIMS = 100
MAX_QUOTES = 20
_Text = Annotated[str, Field(min_length=1, max_length=10_000)]


class CitedClaim(WireModel):
    """A sentence with the words of its sources."""

    model_config = ConfigDict(extra="forbid")

    text: _Text = Field(description="One sentence")
    quotes: Annotated[list[_Text], Field(max_length=MAX_QUOTES)] = Field(description="What its sources say, word for word")


class ClaimsArguments(WireModel):
    model_config = ConfigDict(extra="forbid")

    claims: Annotated[list[CitedClaim], Field(min_length=1, max_length=MAX_CLAIMS)]


class BundleArguments(WireModel):
    model_config = ConfigDict(extra="forbid")

    thread_id: str | None = Field(default=None, description="A thread of yours with a research, or")
    bundle: str | None = Field(default=None, description="the bundle's file in base64; larger ones: POST /api/research/verify")
    key: str | None = Field(default=None, description="The public key that must have signed it")
    head: str | None = Field(default=None, description="The head that its trail must have")
    strict: bool = Field(default=False, description="Fail also for what a bundle could prove and this one does not")


async def check_claims(services: Services, principal: Principal, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The verdict of each sentence, by rules alone."""
    told = []
    for number, given in enumerate(_read(ClaimsArguments, arguments).claims, 1):
        quotes = {f"q{at}": Quote(f"q{at}", f"s{at}", 0, len(text), text) for at, text in enumerate(given.quotes, 1)}
        checked = await verdict(Claim(f"c{number}", given.text, tuple(quotes)), quotes)
        told.append({"text": given.text, "verdict": checked.verdict, "reasons": list(checked.reasons)})
    return {"claims": told}


async def verify_bundle(services: Services, principal: Principal, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """What checking a bundle again has found."""
    given = _read(BundleArguments, arguments)
    if (given.thread_id is None) == (given.bundle is None):
        raise InvalidRequestError("Send either 'thread_id' or 'bundle'.")
    with tempfile.TemporaryDirectory(prefix="stepwell-evidence-") as folder:
        if given.thread_id is not None:
            file = await pack_thread(services, principal, given.thread_id, Path(folder))
        else:
            file = Path(folder) / "bundle.zip"
            await asyncio.to_thread(file.write_bytes, _decode(given.bundle or ""))
        checker = research_of(services).checker
        try:
            checked = await checker.check(file, head=given.head, key=given.key, strict=given.strict)
        except EvidenceError as error:
            raise InvalidRequestError(str(error)) from error
    return dict(verification_wire(checked))


SERVED_TOOLS = (
    ServedTool(
        "check_claims",
        "Check claims",
        "Check whether sentences follow from quotes: numbers, names, dates and words are compared by rules, without a model. Returns a "
        "verdict for each sentence (verbatim, supported, partial, unsupported, contradicted), with reasons.",
        ClaimsArguments.model_json_schema(),
        "documents:read",
        check_claims,
    ),
    ServedTool(
        "verify_bundle",
        "Verify a bundle",
        "Verify the evidence of a research: that nothing was changed, that every quote stands in its stored source, and that every "
        "sentence has the verdict that its checks give.",
        BundleArguments.model_json_schema(),
        "threads:read",
        verify_bundle,
    ),
)


def _read(model: type[Any], arguments: Mapping[str, Any]) -> Any:
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        raise InvalidRequestError(f"{describe_first_fault(error, under=('arguments',))}.") from error


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise InvalidRequestError("'bundle' is not base64.") from error
