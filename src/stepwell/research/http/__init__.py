"""The routes of research: questions, evidence, bundles."""

from __future__ import annotations

from stepwell.research.http import bundles, evidence, questions

# First the evidence: `verify` in /api/research/verify is not a thread.
ROUTERS = (evidence.router, questions.router, bundles.router)
