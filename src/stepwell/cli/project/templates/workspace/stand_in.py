"""Plays the model's part until one is connected: it adds what you name to the packing list, and asks before it does."""

from stepwell.testing import ScriptedModel, call, say

NOTE = "(No model is connected yet: this was played by stand_in.py. Connect one on the page, or write its key into .env.)"


def stand_in():
    return ScriptedModel.answering(play, remember=0)


def play(asked):
    """One turn: add the words after "add", or say what can be asked."""
    if asked.results:
        changed = asked.results[-1].status != "error"
        return say(f"{'It is on the list in /packing.md.' if changed else 'Then the list stays as it is.'} {NOTE}")
    verb, _, thing = asked.human.strip().partition(" ")
    if verb.lower() != "add" or not thing:
        return say(f"Write, for example: add a rain coat. {NOTE}")
    return call(
        "edit_file", file_path="/packing.md", old_string="# Packing list\n\n", new_string=f"# Packing list\n\n- {thing}\n"
    )
