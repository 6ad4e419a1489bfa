"""Decides which turn comes next: the ways to read a script.

```
in order             one position for the model     each call takes exactly one turn, from any thread or task
each_run             one position per conversation  the number of replies already in it: stateless, for many runs at once
answering            no position                    a function decides
by agent             one of the above per agent     for agents and subagents that share one model
```
A script is called under the player's lock, so no script needs a lock of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from stepwell.testing.scripted.asked import Asked
from stepwell.testing.scripted.replies import Computed, Playable, Reply, ScriptError, as_turns

ScriptLike: TypeAlias = "Script | Callable[[Asked], Playable | Awaitable[Playable]] | Iterable[Playable | Iterable[Playable]]"


class ScriptExhaustedError(ScriptError):
    """The model was called once more than its script allows."""


@runtime_checkable
class Script(Protocol):
    """Returns turns."""

    def next_turn(self, asked: Asked) -> Reply | Computed:
        """The turn that answers this call; raises `ScriptExhaustedError` if there is none."""
        ...

    def unplayed(self) -> list[str]:
        """One line for each part that was not fully played."""
        ...


class InOrder:
    """The turns of a list, each played once."""

    def __init__(self, turns: Iterable[Playable | Iterable[Playable]]) -> None:
        self._turns = as_turns(turns)
        self._played = 0

    def next_turn(self, asked: Asked) -> Reply | Computed:
        if self._played == len(self._turns):
            raise ScriptExhaustedError(
                f"The script is exhausted: all {self._played} replies were played, and the model was asked again. "
                f"Add a reply, or find out why the agent went on.\n{asked.describe()}"
            )
        turn = self._turns[self._played]
        self._played += 1
        return turn

    def unplayed(self) -> list[str]:
        left = len(self._turns) - self._played
        if not left:
            return []
        return [f"{left} of {len(self._turns)} replies were not played; the next one is {self._turns[self._played]!r}"]


class EachRun:
    """The turns of a list, played from the start by every conversation.

    The position is the number of model replies in the messages, so a failed turn is played again when it is retried, and a summary that
    hides old replies moves the script back.
    """

    def __init__(self, turns: Iterable[Playable | Iterable[Playable]]) -> None:
        self._turns = as_turns(turns)

    def next_turn(self, asked: Asked) -> Reply | Computed:
        turn = asked.turn
        if turn >= len(self._turns):
            raise ScriptExhaustedError(
                f"The script for each run is exhausted: this conversation holds {turn} replies already, and the script has "
                f"{len(self._turns)}. Add a reply, or find out why the agent went on.\n{asked.describe()}"
            )
        return self._turns[turn]

    def unplayed(self) -> list[str]:
        return []


class Answering:
    """The turns that a function decides."""

    def __init__(self, answer: Callable[[Asked], Playable | Awaitable[Playable]]) -> None:
        self._turn = Computed(answer)

    def next_turn(self, asked: Asked) -> Reply | Computed:
        return self._turn

    def unplayed(self) -> list[str]:
        return []


class ByAgent:
    """One script for each agent that shares the model."""

    def __init__(self, scripts: Mapping[str, ScriptLike], key: Callable[[Asked], str] | None) -> None:
        self._scripts = {name: as_script(script) for name, script in scripts.items()}
        self._key = key

    def next_turn(self, asked: Asked) -> Reply | Computed:
        name = asked.agent if self._key is None else self._key(asked)
        script = self._scripts.get(name)
        if script is None:
            raise ScriptExhaustedError(
                f"No script for agent '{name}'; there are scripts for {sorted(self._scripts)}. Add one, or give `key=` a "
                f"function that tells the agents apart.\n{asked.describe()}"
            )
        try:
            return script.next_turn(asked)
        except ScriptExhaustedError as exhausted:
            raise ScriptExhaustedError(f"Agent '{name}': {exhausted}") from None

    def unplayed(self) -> list[str]:
        return [f"Agent '{name}': {line}" for name, script in self._scripts.items() for line in script.unplayed()]


def each_run(turns: Iterable[Playable | Iterable[Playable]]) -> EachRun:
    """A script that every conversation plays from its start, however many run at once."""
    return EachRun(turns)


def as_script(script: ScriptLike) -> Script:
    """The script for a list of turns or a function."""
    if isinstance(script, Script):
        return script
    if isinstance(script, Iterable) and not isinstance(script, str):
        return InOrder(script)
    if callable(script):
        return Answering(script)
    raise TypeError(
        f"A script is a list of replies or a function, not a {type(script).__name__}. For one reply write [say(...)]."
    )
