"""A user's message that is too large for the context: whole in the thread, head, tail and a file's path for the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from stepwell import FilesystemBackend, FilesystemMiddleware, StateBackend, StoreBackend, create_deep_agent
from stepwell.testing import ScriptedModel, call, fail, say

TEXT = "Summarise this.\n" + "\n".join(f"row {n}" for n in range(40_000)) + "\nThat was all."
THREAD: Any = {"configurable": {"thread_id": "1"}}
IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}


def ask(said: Any = TEXT) -> dict[str, Any]:
    return {"messages": [HumanMessage(said, id="u1")]}


def seen(model: ScriptedModel, place: int = 1) -> Any:
    return model.last_asked.messages[place]


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_the_model_sees_head_tail_and_path_and_the_thread_keeps_it_whole(form: str) -> None:
    turns = [say("ok")]
    model = ScriptedModel(turns)
    agent = create_deep_agent(model)
    final = agent.invoke(ask()) if form == "sync" else await agent.ainvoke(ask())
    (path,) = final["files"]
    assert path.startswith("/large_messages/")
    assert "\n".join(final["files"][path]["content"]) == TEXT
    shown = seen(model).text
    assert shown.startswith("Summarise this.\nrow 0\n")
    assert shown.endswith("row 39999\nThat was all.")
    assert f"The whole message is in {path}: page through it with read_file" in shown
    assert f"{len(TEXT):,} characters in 40,002 lines" in shown
    assert len(shown) < 5_000
    assert final["messages"][0].content == TEXT


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("place", ["state", "disk", "store"])
async def test_it_is_written_once_and_looks_the_same_in_every_step(form: str, place: str, tmp_path: Path) -> None:
    writes: list[str] = []

    def counting(kind: type[Any], *arguments: Any) -> Any:
        class Counting(kind):  # type: ignore[misc]  # any backend
            def write(self, file_path: str, content: str, **options: Any) -> Any:
                writes.extend([file_path] if form == "sync" else [])
                return super().write(file_path, content, **options)

            async def awrite(self, file_path: str, content: str, **options: Any) -> Any:
                writes.extend([file_path] if form == "async" else [])
                return await super().awrite(file_path, content, **options)

        return Counting(*arguments)

    backend = {
        "state": lambda: counting(StateBackend),
        "disk": lambda: counting(FilesystemBackend, tmp_path),
        "store": lambda: counting(StoreBackend, InMemoryStore()),
    }[place]()
    saver = InMemorySaver()
    looks = []
    for process in range(2):  # a new agent knows nothing of what the first one remembers
        turns = [call("ls"), call("read_file", file_path="/large_messages/none"), say("ok")]
        model = ScriptedModel(turns)
        agent = create_deep_agent(model, backend=backend, checkpointer=saver)
        given = ask() if process == 0 else {"messages": [HumanMessage("And now?")]}
        await (agent.ainvoke(given, THREAD) if form == "async" else _as_async(agent.invoke, given))
        looks += [asked.messages[1].content for asked in model.asked]
    assert len(looks) == 6
    assert len(set(looks)) == 1
    assert len(writes) == 1


async def _as_async(invoke: Any, given: Any, config: Any = THREAD) -> Any:
    return invoke(given, config)


def test_a_step_that_failed_is_prepared_again_with_its_file() -> None:
    """The file lives in the thread, and a step that fails stores nothing."""
    saver = InMemorySaver()
    model = ScriptedModel([fail(ConnectionError("away")), say("ok")])
    agent = create_deep_agent(model, checkpointer=saver)
    with pytest.raises(Exception, match="away"):
        agent.invoke(ask(), THREAD)
    final = agent.invoke(None, THREAD)
    assert list(final["files"])
    assert f"The whole message is in {next(iter(final['files']))}" in seen(model).text


def test_images_in_the_message_stay() -> None:
    model = ScriptedModel([say("ok")])
    final = create_deep_agent(model).invoke(ask([{"type": "text", "text": TEXT}, IMAGE]))
    text, image = seen(model).content
    assert "The whole message is in /large_messages/" in text["text"]
    assert image == IMAGE
    assert final["messages"][0].content[0]["text"] == TEXT


def test_a_small_model_has_a_smaller_limit() -> None:
    model = ScriptedModel([say("ok")], profile={"max_input_tokens": 10_000})
    create_deep_agent(model).invoke(ask("x" * 30_000))
    assert "/large_messages/" in seen(model).text


@pytest.mark.parametrize("option", ["message_token_limit", "human_message_token_limit_before_evict"])
def test_the_limit_can_be_chosen_and_switched_off(option: str) -> None:
    for limit, moved in ((None, False), (10_000, True), (100_000, False)):
        model = ScriptedModel([say("ok")])
        options: Any = {option: limit}
        create_deep_agent(model, middleware=[FilesystemMiddleware(**options)]).invoke(ask())
        assert ("/large_messages/" in seen(model).text) is moved


def test_nothing_is_written_to_a_remote_backend() -> None:
    class Remote(StoreBackend):
        remote = True

    backend = Remote(InMemoryStore())
    model = ScriptedModel([say("ok")])
    create_deep_agent(model, backend=backend).invoke(ask())
    assert seen(model).content == TEXT
    assert backend.glob_info("**") == []


def test_what_cannot_be_saved_is_shown_whole() -> None:
    class Full(StateBackend):
        def write(self, *arguments: Any, **options: Any) -> Any:
            return type("Result", (), {"error": "Error: full.", "files_update": None})()

    model = ScriptedModel([say("ok")])
    create_deep_agent(model, backend=Full()).invoke(ask())
    assert seen(model).content == TEXT


def test_it_works_in_a_subagent() -> None:
    helper = ScriptedModel([say("done")])
    main = ScriptedModel([call("task", description=TEXT, subagent_type="helper"), say("ok")])
    spec: Any = {"name": "helper", "description": "helps", "system_prompt": "Help.", "model": helper}
    final = create_deep_agent(main, subagents=[spec]).invoke({"messages": [("user", "go")]})
    assert "The whole message is in /large_messages/" in seen(helper).text
    assert any(path.startswith("/large_messages/") for path in final["files"])


def test_threads_whose_messages_have_the_same_ids_do_not_mix() -> None:
    model = ScriptedModel([say("small"), say("large"), say("small again")])
    agent = create_deep_agent(model)
    for said, moved in (("hello", False), (TEXT, True), ("hello", False)):
        agent.invoke(ask(said))
        assert ("/large_messages/" in seen(model).text) is moved


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_the_same_message_of_two_tenants_is_in_the_files_of_both(form: str) -> None:
    store = InMemoryStore()

    def files_of_user(runtime: Any) -> StoreBackend:
        return StoreBackend(runtime, namespace=(runtime.config["configurable"]["user"],))

    model = ScriptedModel([say("ok"), say("ok")])
    agent = create_deep_agent(model, backend=files_of_user, store=store)
    for user in ("ada", "bob"):
        config: Any = {"configurable": {"user": user}}
        await (agent.ainvoke(ask(), config) if form == "async" else _as_async(agent.invoke, ask(), config))
        assert "/large_messages/" in seen(model).text
        (stored,) = StoreBackend(store, namespace=(user,)).glob_info("/large_messages/*")
        assert stored["path"] in seen(model).text


def test_a_file_that_was_deleted_is_written_again(tmp_path: Path) -> None:
    model = ScriptedModel([say("ok"), say("ok")])
    agent = create_deep_agent(model, backend=FilesystemBackend(tmp_path), checkpointer=InMemorySaver())
    agent.invoke(ask(), THREAD)
    (file,) = (tmp_path / "large_messages").iterdir()
    file.unlink()
    agent.invoke({"messages": [("user", "And now?")]}, THREAD)
    assert file.read_text() == TEXT


def test_a_message_that_became_large_later_is_moved_too() -> None:
    model = ScriptedModel([say("ok"), say("ok")])
    agent = create_deep_agent(model, checkpointer=InMemorySaver())
    agent.invoke(ask("small"), THREAD)
    agent.update_state(THREAD, ask())
    agent.invoke({"messages": [("user", "And now?")]}, THREAD)
    assert "/large_messages/" in seen(model).text


@pytest.mark.parametrize("piece", ["word ", "x"])
def test_read_file_reaches_all_of_a_long_line(piece: str) -> None:
    said = piece * (300_000 // len(piece)) + "The end."
    model = ScriptedModel([say("ok")])
    final = create_deep_agent(model).invoke(ask(said))
    ((path, file),) = final["files"].items()
    assert "".join(file["content"]) == said
    assert f"in {len(file['content'])} lines." in seen(model).text
    assert "Its long lines are broken there into lines of at most 2,000 characters." in seen(model).text
    reader = ScriptedModel([call("read_file", file_path=path, offset=len(file["content"]) - 1), say("ok")])
    shown = create_deep_agent(reader).invoke({"messages": [("user", "Read it.")], "files": final["files"]})["messages"][2].text
    assert shown.endswith("The end.")
    assert "(cut" not in shown
