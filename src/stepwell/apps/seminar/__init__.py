"""The older seminar agent: one document, paid for in one piece. Kept for clients that know it; new work belongs in the tutor."""
