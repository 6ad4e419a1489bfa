"""A whole research without a model and a network: plan, approval, sources, checks, report."""

import asyncio
import logging
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from research import POLICY, make_graph
from stepwell.research.demo import QUESTION, demo_equipment
from stepwell.research.evidence.equipment import find_vault
from stepwell.research.evidence.policy.file import load_policy
from stepwell.research.graph.graph import build_graph

logging.getLogger("langgraph").setLevel(
    logging.ERROR
)  # it warns of our classes in this test's checkpoints; the server lists them


class ResearchTest(unittest.TestCase):
    def test_a_report_needs_an_approved_plan_and_cites_what_it_says(self):
        asyncio.run(self.research())

    async def research(self):
        with tempfile.TemporaryDirectory() as folder:
            equipment = replace(demo_equipment(), vault_for=lambda config: find_vault(config, Path(folder)))
            graph = build_graph(equipment)
            graph.checkpointer = InMemorySaver()
            thread = {"configurable": {"thread_id": "test"}}
            asked = await graph.ainvoke({"messages": [("user", QUESTION)]}, thread)
            (plan,) = asked["__interrupt__"]
            self.assertEqual(plan.value["type"], "plan_approval")
            done = await graph.ainvoke(Command(resume={plan.id: {"decision": "approve"}}), thread)
            self.assertIn("Stepwells gave people water all year round [1].", done["final_report"])
            self.assertNotIn("38 metres", done["final_report"], "the checks catch what no source says")

    def test_the_policy_can_be_read(self):
        self.assertTrue(load_policy(POLICY).text)

    def test_the_graph_is_built(self):
        self.assertEqual(make_graph().name, "research")
