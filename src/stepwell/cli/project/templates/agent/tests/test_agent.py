"""Tests need no model: a script plays it, and everything else is real. `make test`, or pytest if you have it."""

import unittest

from agent import build
from stand_in import stand_in
from stepwell.testing import ScriptedModel, call, say


def ask(agent, text):
    return agent.invoke({"messages": [("user", text)]})["messages"]


class AgentTest(unittest.TestCase):
    def test_days_are_counted_by_the_tool(self):
        model = ScriptedModel([call("days_between", first="2026-03-01", last="2026-06-30"), say("121 days.")])
        messages = ask(build(model), "How long is it?")
        self.assertEqual(messages[-2].text, "121 days")
        model.assert_finished()

    def test_a_wrong_date_is_explained_to_the_model(self):
        model = ScriptedModel([call("days_between", first="soon", last="2026-06-30"), say("Which date?")])
        self.assertIn("Write dates as 2026-03-01", ask(build(model), "From soon on?")[-2].text)

    def test_the_stand_in_uses_the_tool(self):
        messages = ask(build(stand_in()), "How many days are there from 2026-03-01 to 2026-06-30?")
        self.assertTrue(messages[-1].text.startswith("121 days."))
