"""The routes of research: questions, bundles, evidence."""
