"""A demonstration that needs no model: a real agent, real tools and real files in state, but every reply is written down here.

It must say so on the screen: nobody may take a script for intelligence.
"""

from __future__ import annotations

from typing import Any

REQUEST = "Find out what a stepwell is and leave me a short note about it."

NOTE = """# Stepwell

A stepwell is a deep well that people walk down by stairs. The water is reached at any level of the
season, and the landings on the way are places to rest and meet.
"""

FINDING = "A stepwell is a well with stairs down to the water, built in dry regions so that many households could share it."


def build_demo(*, pace_s: float = 0.0) -> Any:
    """An agent with one subagent that plays the script, and asks before it writes a file.

    `pace_s` is the pause between two pieces of text, so that a person can follow.
    """
    from langgraph.checkpoint.memory import InMemorySaver

    from stepwell.agent import create_deep_agent
    from stepwell.middleware import SubAgent
    from stepwell.testing import ScriptedModel, say, slow

    scripts = {"main": _main_script(), "researcher": [say(FINDING)]}
    paced = {name: [slow(turn, seconds_per_chunk=pace_s) for turn in turns] for name, turns in scripts.items()}
    model = ScriptedModel.by_agent(paced, key=_who)
    researcher: SubAgent = {
        "name": "researcher",
        "description": "Looks one question up and answers in a sentence.",
        "system_prompt": "You answer one question in one sentence.",
    }
    return create_deep_agent(
        model=model,
        subagents=[researcher],
        interrupt_on={"write_file": True},
        checkpointer=InMemorySaver(),
    )


def _who(asked: Any) -> str:
    """The researcher is told one question; everything else is the agent itself."""
    return "researcher" if asked.agent == "researcher" else "main"


def _todos(*statuses: str) -> list[dict[str, str]]:
    tasks = ("Find out what a stepwell is", "Write the note")
    return [{"content": task, "status": status} for task, status in zip(tasks, statuses, strict=True)]


def _main_script() -> list[Any]:
    from stepwell.testing import call, say

    return [
        call("write_todos", todos=_todos("in_progress", "pending")).saying("I will make a plan and ask a subagent first."),
        call("task", description="What is a stepwell? Answer in one sentence.", subagent_type="researcher"),
        call("write_todos", todos=_todos("completed", "in_progress")),
        call("write_file", file_path="/note.md", content=NOTE),
        call("write_todos", todos=_todos("completed", "completed")),
        say("The note is in /note.md. It says what a stepwell is and why its landings matter."),
    ]
