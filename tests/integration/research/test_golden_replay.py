"""A bundle that an older version made still verifies and replays. Mission R9."""

from __future__ import annotations

from pathlib import Path

from stepwell.apps.research.replaying import replay_bundle
from stepwell.audit.verify import verify_bundle
from stepwell.models.embedding.lexical import LexicalEmbedder

BUNDLE = Path(__file__).parents[2] / "fixtures" / "golden" / "research-replay-1.zip"
"""Two questions on a thread, each with notes, one with a review of sources; made when every step had a fetcher of its own."""


async def test_a_bundle_of_an_older_version_replays_to_the_byte() -> None:
    checked = verify_bundle(BUNDLE)
    assert checked.ok, checked.problems
    replayed = await replay_bundle(BUNDLE, embedder=LexicalEmbedder())
    assert replayed.equal, replayed.differences
    assert replayed.answers_used == 19, "of 22: every step asked for robots.txt itself, and now a question asks once"
