"""Tests need no model: a script plays it, and everything else is real, files and approvals among it."""

import tempfile
import unittest
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from stand_in import stand_in
from workspace import build

THREAD = {"configurable": {"thread_id": "test"}}


class WorkspaceTest(unittest.TestCase):
    def decide(self, decision):
        """The list after the agent has asked to change it and got this decision."""
        with tempfile.TemporaryDirectory() as folder:
            packing = Path(folder, "packing.md")
            packing.write_text("# Packing list\n\n- boots\n")
            agent = build(stand_in(), folder, InMemorySaver())
            (question,) = agent.invoke({"messages": [("user", "add a rain coat")]}, THREAD)["__interrupt__"]
            self.assertNotIn("rain coat", packing.read_text(), "nothing changes before a person agrees")
            agent.invoke(Command(resume={question.id: {"decisions": [{"type": decision}]}}), THREAD)
            return packing.read_text()

    def test_an_approved_change_is_made(self):
        self.assertEqual(self.decide("approve"), "# Packing list\n\n- a rain coat\n- boots\n")

    def test_a_rejected_change_is_not(self):
        self.assertEqual(self.decide("reject"), "# Packing list\n\n- boots\n")
