"""The method needs no model: it asks, and keeps what is answered."""

import unittest

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from stepwell.tutor.agent import build


class TutorTest(unittest.TestCase):
    def test_the_tutor_asks_and_keeps_the_users_words(self):
        tutor = build(None, checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "test"}}
        asked = tutor.invoke({"messages": [("user", "Should cities close their centres to cars?")]}, thread)
        (question,) = asked["__interrupt__"]
        self.assertEqual(question.value["type"], "clarification_request")
        answered = tutor.invoke(Command(resume={question.id: {"response": "Yes, because people breathe there."}}), thread)
        self.assertIn("people breathe there", str(answered["argument"]))
