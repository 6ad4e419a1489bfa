"""Plays the model's part until one is connected, so that you can see the whole path: message, tool, result, answer."""

import re

from stepwell.testing import ScriptedModel, call, say

NOTE = "(No model is connected yet: this was played by stand_in.py. Connect one on the page, or write its key into .env.)"


def stand_in():
    return ScriptedModel.answering(play, remember=0)


def play(asked):
    """One turn: report what the tool said, or call it if the message has two dates."""
    if asked.results:
        return say(f"{asked.results[-1].text}. {NOTE}")
    dates = re.findall(r"\d{4}-\d{2}-\d{2}", asked.human)
    if len(dates) == 2:
        return call("days_between", first=dates[0], last=dates[1])
    return say(f"Ask me, for example: how many days are there from 2026-03-01 to 2026-06-30? {NOTE}")
