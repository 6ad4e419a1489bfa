"""The routes of research: questions, evidence, bundles."""

from __future__ import annotations

from stepwell.research.http import bundles, evidence, questions

# The evidence routes come first, because `verify` in /api/research/verify must not be taken for the id of a thread.
ROUTERS = (evidence.router, questions.router, bundles.router)
