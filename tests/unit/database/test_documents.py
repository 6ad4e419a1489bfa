"""Documents: whatever is written comes back byte for byte, and what did not change is not stored again."""

from __future__ import annotations

import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from stepwell.database.documents.book import VALUES, DocumentBook, Texts, apply, join
from stepwell.database.types import Document, NewEvent
from stepwell.state.wire import encode


class Shelf:
    """Keeps what is handed over, as a log does, and puts documents together from it alone."""

    def __init__(self) -> None:
        self.rows: dict[int, Document] = {}

    def keep(self, written: bytes | Document) -> bytes:
        """The text that a later reader gets."""
        if isinstance(written, bytes):
            return written
        if written.changes is not None:
            assert written.number not in self.rows
            self.rows[written.number] = written
        return join(self.fields(written.number))

    def fields(self, number: int) -> Texts:
        chain = []
        at: int | None = number
        while at is not None:
            chain.append(self.rows[at])
            at = self.rows[at].base
        texts: Texts = {}
        for row in reversed(chain):
            assert row.changes is not None
            texts = apply(texts, row.changes)
        return texts

    @property
    def bytes(self) -> int:
        return sum(len(row.changes or b"") for row in self.rows.values())


def conversation(count: int) -> list[Any]:
    rng = random.Random(count)
    messages: list[Any] = []
    for number in range(count):
        messages.append(
            AIMessage("", id=f"a{number}", tool_calls=[{"name": "look", "args": {"n": number}, "id": f"c{number}"}])
        )
        messages.append(ToolMessage(rng.randbytes(100).hex(), id=f"t{number}", tool_call_id=f"c{number}"))
    return messages


def test_a_growing_conversation_is_stored_once() -> None:
    book, shelf, messages = DocumentBook(), Shelf(), conversation(200)
    for count in range(len(messages) + 1):
        values = {"messages": messages[:count], "files": {"/a.md": {"content": ["x" * 50] * 100}}}
        assert shelf.keep(book.write(VALUES, values)) == encode(values)
    assert shelf.bytes < len(encode({"messages": messages}))


def test_a_small_change_beside_a_large_file_is_small() -> None:
    book, shelf = DocumentBook(), Shelf()
    files = {f"/{name}.md": {"content": f"{name} " * 100_000} for name in "ab"}
    before = shelf.keep(book.write(VALUES, {"files": files, "todos": []})), shelf.bytes
    files["/a.md"] = {"content": "a " * 50_000 + "b " + "a " * 49_999}
    values = {"files": files, "todos": [{"content": "look", "status": "pending"}]}
    assert shelf.keep(book.write(VALUES, values)) == encode(values) != before[0]
    assert shelf.bytes - before[1] < 300


def test_an_answer_that_is_edited_in_place_is_seen() -> None:
    book, shelf, messages = DocumentBook(), Shelf(), conversation(50)
    shelf.keep(book.write(VALUES, {"messages": messages}))
    messages[-2].tool_calls = [{"name": "other", "args": {}, "id": "c49"}]
    messages[3].content = "rewritten"
    assert shelf.keep(book.write(VALUES, {"messages": messages})) == encode({"messages": messages})


def test_a_book_goes_on_from_what_another_left() -> None:
    shelf, messages = Shelf(), conversation(60)
    first = DocumentBook().write(VALUES, {"messages": messages})
    assert isinstance(first, Document)
    shelf.keep(first)
    stored = shelf.bytes
    again = [
        type(message)(**message.model_dump(exclude={"type"})) for message in messages
    ]  # as a saver loads them: other objects
    second = DocumentBook(first.number, (first.number, shelf.fields(first.number)))
    second.go_back_to(0)  # as after a run that journaled none
    values = {"messages": [*again, HumanMessage("and now?", id="h")]}
    assert shelf.keep(second.write(VALUES, values)) == encode(values)
    assert shelf.bytes - stored < 300


def test_what_stays_the_same_is_not_handed_over_twice() -> None:
    book, values = DocumentBook(), {"messages": conversation(20)}
    first, second = book.write(VALUES, values), book.write(VALUES, values)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (second.number, second.changes, second.text) == (first.number, None, encode(values))


def test_nothing_builds_on_what_was_never_handed_over() -> None:
    book, shelf, messages = DocumentBook(), Shelf(), conversation(40)
    kept = book.write(VALUES, {"messages": messages[:60]})
    assert isinstance(kept, Document)
    shelf.keep(kept)
    book.write(VALUES, {"messages": messages[:70]})
    book.go_back_to(kept.number)
    assert shelf.keep(book.write(VALUES, {"messages": messages})) == encode({"messages": messages})


def test_the_text_is_left_out_while_nobody_wants_it() -> None:
    book = DocumentBook(wants_text=lambda: False)
    event = book.event("values", VALUES, {"messages": conversation(20)})
    assert event.data == b""
    assert event.stored is not None
    assert book.event("values", "other", {"a": 1}) == NewEvent("values", b'{"a":1}')


def test_words_of_an_answer_are_stored_without_what_they_repeat() -> None:
    book, metadata, stored = DocumentBook(), {f"key_{n}": "v" * 40 for n in range(20)}, 0
    for number in range(100):
        event = book.event_like(NewEvent("messages", encode([{"content": f"word{number} ", "id": "m"}, metadata])), "m")
        assert event.stored is not None
        assert event.stored.kept is not None
        start, end = event.stored.kept
        stored += len(event.stored.document.changes or b"") + len(event.data) - start - end
    assert stored < 2_500


def test_an_answer_that_is_sent_again_with_each_word_is_stored_as_what_it_adds() -> None:
    book, shelf, words = DocumentBook(), Shelf(), ""
    for number in range(300):
        words += f"{number:04d} "
        event = book.event_grown(NewEvent("messages/partial", encode([AIMessage(words, id="m")])), "m")
        assert event.stored is not None
        assert shelf.keep(event.stored.document) == event.data
    assert shelf.bytes < 10 * len(words)


@pytest.mark.prove
def test_random_histories_come_back_byte_for_byte(effort: Any) -> None:
    for seed in range(effort.cases(30, 2_000)):
        rng = random.Random(seed)
        book, shelf = DocumentBook(), Shelf()
        state: Any = {}
        for _ in range(rng.randint(5, 40)):
            state = _change(rng, state)
            assert shelf.keep(book.write(VALUES, state)) == encode(state), f"seed {seed}"
            if rng.random() < 0.1:
                number = max(shelf.rows, default=0)
                book = DocumentBook(number, (number, shelf.fields(number)) if number else None)


def _change(rng: random.Random, state: Any) -> Any:
    """One of the things that steps do to a state, in place or not."""
    if not isinstance(state, dict) or rng.random() < 0.05:
        return rng.choice([{}, ["a", {"b": 1}] * 300, "ü" * rng.randint(1, 2_000), {1: "odd", "2": "key"}])
    state = dict(state)
    key = rng.choice(["messages", "files", "words", "note"])
    match key:
        case "messages":
            messages = list(state.get("messages", []))
            match rng.randint(0, 4):
                case 0 if messages:
                    del messages[rng.randrange(len(messages))]
                case 1 if messages:
                    messages[-1].content = rng.choice(["", "é" * 30, [{"type": "text", "text": "ü"}]])
                case 2 if messages:
                    messages.insert(rng.randrange(len(messages)), HumanMessage("between", id=str(rng.random())))
                case _:
                    messages += [AIMessage("ß" * rng.randint(0, 300), id=str(rng.random())) for _ in range(rng.randint(1, 9))]
            state["messages"] = messages
        case "files":
            state["files"] = {**state.get("files", {}), f"/{rng.randint(0, 3)}": "x\n" * rng.randint(0, 3_000)}
        case "words":
            state.setdefault("words", []).append(rng.choice(["a", 1, 1.5, None, {"b": "\ud800"}, 2**70]))  # in place
        case "note" if "note" in state:
            del state["note"]
        case _:
            state = {"note": rng.random(), **state} if rng.random() < 0.5 else {**state, "note": "n"}
    return state
