"""Whatever LangGraph's own server accepts as a graph can be served, with the saver and the store of each use."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.pregel import Pregel
from langgraph.store.memory import InMemoryStore
from langgraph_sdk.runtime import ServerRuntime, _ExecutionRuntime, _ReadRuntime
from pydantic import BaseModel
from typing_extensions import TypedDict

from stepwell.errors import ConfigurationError, GraphBuildError, ModelUnavailableError, NotFoundError
from stepwell.models.connected import ConnectedModel, RunModels, current_models
from stepwell.runs.graphs.exports import Purpose
from stepwell.runs.graphs.langgraph_json import read_langgraph_json
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource, GraphSpec
from stepwell.settings import Secret


class Words(TypedDict, total=False):
    word: str


def _builder() -> StateGraph[Any, Any, Any, Any]:
    return StateGraph(Words).add_node("say", lambda state: {"word": state["word"] + "!"}).add_edge(START, "say")


@entrypoint()
def shout(words: Words) -> Words:
    return {"word": words["word"] + "!"}


async def make_later() -> Any:
    return _builder()


def make_by_config(config: RunnableConfig) -> Any:
    return _builder().compile(name=config["configurable"].get("name", "nobody"))


def make_by_unmarked(anything) -> Any:  # type: ignore[no-untyped-def]
    return make_by_config(anything)


async def make_by_both(runtime: ServerRuntime, config: RunnableConfig, limit: int = 3) -> Any:
    return _builder().compile(name=f"{runtime.access_context} {config['configurable']}")


def make_by_runtime(runtime: ServerRuntime[Words]) -> Any:
    execution = runtime.execution_runtime
    return _builder().compile(name=f"{runtime.access_context} {execution.context if execution else 'reads'}")


@asynccontextmanager
async def opened(config: RunnableConfig) -> AsyncIterator[Any]:
    yield _builder()


@contextmanager
def opened_in_thread() -> Iterator[Any]:
    yield _builder().compile()


EXPORTS: dict[str, Any] = {
    "compiled": _builder().compile(),
    "builder": _builder(),
    "function": shout,
    "zero": lambda: _builder().compile(),
    "later": make_later,
    "config": make_by_config,
    "unmarked": make_by_unmarked,
    "both": make_by_both,
    "runtime": make_by_runtime,
    "opened": opened,
    "opened_in_thread": opened_in_thread,
}
KEPT = {"compiled", "builder", "function", "zero", "later"}


def serve(**exports: Any) -> GraphRegistry:
    return GraphRegistry({name: GraphSource.of(export) for name, export in exports.items()})


async def built(registry: GraphRegistry, name: str, purpose: Purpose = "run", **use: Any) -> Pregel[Any, Any, Any, Any]:
    async with registry.graph(name, saver=None, store=None, purpose=purpose, **use) as graph:
        return graph


@pytest.mark.parametrize("name", EXPORTS)
async def test_every_kind_of_export_runs_with_the_saver_and_the_store_of_the_use(name: str) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}

    async with serve(**EXPORTS).graph(name, config=config, saver=saver, store=store, purpose="run") as graph:
        assert (await graph.ainvoke({"word": "hey"}, config))["word"] == "hey!"
        assert graph.store is store

    assert await saver.aget(config) is not None


@pytest.mark.parametrize("name", EXPORTS)
async def test_a_graph_is_kept_unless_it_depends_on_the_use(name: str) -> None:
    registry = serve(**EXPORTS)

    first, second = await built(registry, name), await built(registry, name)

    node = next(iter(first.nodes))
    assert (first.nodes[node] is second.nodes[node]) == (name in KEPT)
    assert first is not second


async def test_many_first_uses_at_once_build_a_kept_graph_once() -> None:
    calls = []

    async def make() -> Any:
        calls.append(1)
        await asyncio.sleep(0)
        return _builder()

    registry = serve(g=make)

    await asyncio.gather(*(built(registry, "g") for _ in range(20)))

    assert len(calls) == 1


async def test_uses_of_a_graph_that_must_be_opened_do_not_wait_for_each_other() -> None:
    inside, both = 0, asyncio.Event()

    @asynccontextmanager
    async def make(config: RunnableConfig) -> AsyncIterator[Any]:
        nonlocal inside
        inside += 1
        if inside == 2:
            both.set()
        await both.wait()
        yield _builder()

    registry = serve(g=make)

    async with asyncio.timeout(60):
        await asyncio.gather(built(registry, "g"), built(registry, "g"))


async def test_a_factory_is_told_why_it_is_called() -> None:
    registry = serve(**EXPORTS)
    config: RunnableConfig = {"configurable": {"a": 1}}

    assert (await built(registry, "config", config={"configurable": {"name": "Ada"}})).name == "Ada"
    assert (await built(registry, "config")).name == "nobody"
    assert (await built(registry, "runtime", context={"word": "x"})).name == "threads.create_run {'word': 'x'}"
    for purpose, access in (("read", "threads.read"), ("update", "threads.update"), ("schema", "assistants.read")):
        assert (await built(registry, "runtime", purpose)).name == f"{access} reads"
        assert (await built(registry, "both", purpose, config=config)).name == f"{access} {{'a': 1}}"


async def test_a_factory_with_a_runtime_gets_the_config_for_its_other_parameter() -> None:
    """Aegra's example is written like this, and LangGraph's own server takes it."""

    def make(config: dict[str, Any], runtime: ServerRuntime[Words]) -> Any:
        return _builder().compile(name=f"{runtime.access_context} {config['configurable']}")

    def make_otherwise(runtime: ServerRuntime, given: Any, limit: int = 3) -> Any:
        return make(given, runtime)

    registry = serve(one=make, other=make_otherwise)
    for name in ("one", "other"):
        assert (await built(registry, name, "read", config={"configurable": {"a": 1}})).name == "threads.read {'a': 1}"


def test_langgraphs_private_runtimes_have_the_fields_that_are_filled_in() -> None:
    common = {"access_context", "user", "store"}
    assert {one.name for one in dataclasses.fields(_ReadRuntime)} == common
    assert {one.name for one in dataclasses.fields(_ExecutionRuntime)} == common | {"context"}


async def test_functions_that_may_block_run_off_the_loop_and_async_ones_on_it() -> None:
    where: dict[str, Any] = {}

    def blocking() -> Any:
        where["blocking"] = threading.current_thread()
        return _builder()

    async def flowing() -> Any:
        where["flowing"] = (threading.current_thread(), asyncio.get_running_loop())
        return _builder()

    registry = serve(blocking=blocking, flowing=flowing)
    await registry.check()

    assert where["blocking"] is not threading.current_thread()
    assert where["flowing"] == (threading.current_thread(), asyncio.get_running_loop())


async def test_what_was_opened_is_closed_after_the_use_with_its_error() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def make() -> AsyncIterator[Any]:
        try:
            yield _builder()
        except ValueError as error:
            seen.append(str(error))
            raise
        finally:
            seen.append("closed")

    async def use() -> None:
        async with serve(g=make).graph("g", saver=None, store=None, purpose="run"):
            assert seen == []
            raise ValueError("from the use")

    with pytest.raises(ValueError, match="from the use"):
        await use()

    assert seen == ["from the use", "closed"]


async def test_a_checkpointer_of_the_graphs_own_is_replaced_and_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    own, ours = InMemorySaver(), InMemorySaver()
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    registry = serve(g=lambda config: _builder().compile(checkpointer=own))

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            async with registry.graph("g", saver=ours, store=None, purpose="run") as graph:
                await graph.ainvoke({"word": "hey"}, config)

    assert await own.aget(config) is None
    assert await ours.aget(config) is not None
    assert len(caplog.records) == 1
    assert "the server's is used instead" in caplog.text


async def test_a_graph_without_a_name_gets_the_one_it_is_served_by() -> None:
    registry = serve(mine=_builder(), named=_builder().compile(name="Ada"))

    assert [(await built(registry, name)).name for name in ("mine", "named")] == ["mine", "Ada"]


async def test_an_unknown_name_is_not_found_and_the_served_ones_are_named() -> None:
    with pytest.raises(NotFoundError, match=r"No graph 'c'\. Served are: a, b\."):
        await built(serve(b=_builder(), a=_builder()), "c")


async def _fails_by_setting() -> Any:
    raise ConfigurationError("No policy. Set STEPWELL_POLICY.")


async def _fails() -> Any:
    raise ModelUnavailableError("No model. Set STEPWELL_MODEL.")


def _fails_with_secret() -> Any:
    raise ValueError("/home/ada key=sk-123")


def _ends_the_program() -> Any:
    raise SystemExit(3)


async def _ends_the_program_later() -> Any:
    raise SystemExit(3)


def _wants_too_much(first: str, second: int) -> Any: ...


@pytest.mark.parametrize(
    ("export", "said"),
    [
        (3, "is not a graph but of type 'int'"),
        (None, "of type 'NoneType'"),
        (Words, "is not a graph"),
        (RunnableLambda(lambda value: value), "of type 'RunnableLambda'"),
        (lambda: 3, "did not make a graph but something of type 'int'"),
        (_wants_too_much, "parameter 'first', which the server cannot fill in"),
        (_fails_by_setting, r"could not be built: No policy\. Set STEPWELL_POLICY\."),
        (_fails_with_secret, "could not be built: ValueError. The log has the whole error."),
        (_ends_the_program, "could not be built: SystemExit. The log has the whole error."),
        (_ends_the_program_later, "could not be built: SystemExit. The log has the whole error."),
        (StateGraph(Words), "could not be built: ValueError. The log has the whole error."),
    ],
)
async def test_what_is_no_graph_is_refused_by_name_and_without_secrets(
    export: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        await serve(broken=export).check()
    assert any(record.exc_info for record in caplog.records) == ("The log has" in said)
    assert str(refused.value).startswith("The graph 'broken' ")
    assert "sk-123" not in str(refused.value)


async def test_readiness_says_what_each_graph_lacks_and_builds_none_twice() -> None:
    builds = 0

    def counted() -> Any:
        nonlocal builds
        builds += 1
        return _builder()

    def asks_about_its_use(config: RunnableConfig) -> Any:
        return _builder()

    registry = serve(good=counted, lacking=_fails, broken=_fails_with_secret, asking=asks_about_its_use)
    for _ in range(2):
        assert await registry.readiness() == {
            "good": None,
            "lacking": "No model. Set STEPWELL_MODEL.",
            "broken": "The graph 'broken' could not be built: ValueError. The log has the whole error.",
            "asking": None,
        }
    assert builds == 1


async def test_a_graph_that_cannot_be_built_leaves_the_others_alone_and_is_tried_again() -> None:
    tries = 0

    def mended_at_the_third_try() -> Any:
        nonlocal tries
        tries += 1
        return _builder() if tries == 3 else 3

    registry = serve(good=_builder(), broken=mended_at_the_third_try)
    await registry.check()
    assert list(registry.problems) == ["broken"]
    assert "did not make a graph but something of type 'int'" in registry.problems["broken"]
    await registry.require_built("good")
    with pytest.raises(GraphBuildError, match="did not make a graph but something of type 'int'"):
        await registry.require_built("broken")
    await registry.require_built("broken")
    assert (registry.problems, tries) == ({}, 3)


async def test_a_factory_that_fails_for_one_use_is_not_held_back_from_another() -> None:
    def only_for_runs(runtime: ServerRuntime) -> Any:
        if runtime.execution_runtime is None:
            raise ValueError("not for looking at")
        return _builder()

    registry = serve(picky=only_for_runs)
    await registry.check()
    assert list(registry.problems) == ["picky"]
    await registry.require_built("picky")
    async with registry.graph("picky", saver=None, store=None, purpose="run"):
        pass


@pytest.mark.parametrize("target", ["./agent.ts:graph", "./agent.mjs:graph"])
async def test_a_graph_in_javascript_is_not_served(tmp_path: Path, target: str) -> None:
    registry = GraphRegistry.from_specs({"g": target}, tmp_path)
    with pytest.raises(GraphBuildError, match="JavaScript or TypeScript"):
        await registry.check()


async def test_a_factory_that_never_ends_is_given_up() -> None:
    async def never() -> Any:
        await asyncio.Event().wait()

    registry = GraphRegistry({"slow": GraphSource.of(never)}, build_timeout_s=0.01)

    with pytest.raises(ConfigurationError, match=r"'slow' was not built within 0\.01 s"):
        await registry.check()


# Files.

FILE = """
from __future__ import annotations
from dataclasses import dataclass
from typing_extensions import TypedDict
from langgraph.graph import START, StateGraph
{imports}

@dataclass
class Point:
    x: int

class State(TypedDict, total=False):
    point: Point

graph = StateGraph(State).add_node("go", lambda state: {{"point": Point({value})}}).add_edge(START, "go")
"""


@pytest.fixture(autouse=True)
def _modules_and_path_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("stepwell_served_", "registry_")):
            del sys.modules[name]


async def _point(registry: GraphRegistry, name: str = "g") -> Any:
    return (await (await built(registry, name)).ainvoke({}))["point"]


async def test_a_file_is_imported_once_under_a_name_that_follows_from_its_place(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "my-agent.py").write_text(FILE.format(imports="", value=1))
    specs = {"g": "./src/my-agent.py:graph", "again": {"path": "src/my-agent.py:graph"}}
    registry = GraphRegistry.from_specs(specs, tmp_path)

    first, second = await _point(registry), await _point(registry, "again")

    assert type(first) is type(second)
    assert type(first).__module__ == "stepwell_served_src_my_agent"


async def test_two_projects_with_a_file_of_one_name_do_not_mix(tmp_path: Path) -> None:
    registries = []
    for value in (1, 2):
        folder = tmp_path / str(value)
        folder.mkdir()
        (folder / "agent.py").write_text(FILE.format(imports="", value=value))
        registries.append(GraphRegistry.from_specs({"g": "./agent.py:graph"}, folder))

    assert [(await _point(registry)).x for registry in registries] == [1, 2]


async def test_siblings_and_relative_imports_of_a_project_are_found(tmp_path: Path) -> None:
    package = tmp_path / "registry_pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "values.py").write_text("FIVE = 5\n")
    (package / "agent.py").write_text(FILE.format(imports="from .values import FIVE", value="FIVE"))
    (tmp_path / "registry_sibling.py").write_text("SIX = 6\n")
    (tmp_path / "agent.py").write_text(FILE.format(imports="from registry_sibling import SIX", value="SIX"))
    graphs = (
        '{"in_package": "./registry_pkg/agent.py:graph", "by_name": "registry_pkg.agent:graph", "plain": "./agent.py:graph"}'
    )
    (tmp_path / "langgraph.json").write_text(f'{{"dependencies": ["."], "graphs": {graphs}}}')
    project = read_langgraph_json(tmp_path / "langgraph.json")
    project.enter()
    registry = GraphRegistry.from_project(project)

    points = [await _point(registry, name) for name in registry.names]

    assert [point.x for point in points] == [5, 5, 6]
    assert type(points[0]) is type(points[1])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("import no_such_module_here", "ModuleNotFoundError: 'no_such_module_here' is not installed"),
        ("from json import no_such_name", "ImportError: a name imported from 'json' does not exist there"),
        ("graph = (", "SyntaxError in line 1 of 'agent.py'"),
        ("from . import sibling", "ImportError. The log has the whole error."),
        ("import langchain.agents.gone", "has no module 'langchain.agents.gone'. It was renamed or removed"),
        (
            "raise ValueError('Pass api_key sk-123 or set the OPENAI_API_KEY environment variable.')",
            "ValueError. It mentions OPENAI_API_KEY: set what is missing, in the environment or in .env, and start again.",
        ),
        ("raise ValueError('sk-123')", "ValueError. The log has the whole error."),
        ("open('/no/such/file')", "FileNotFoundError. The log has the whole error."),
        ("raise SystemExit(3)", "SystemExit. The log has the whole error."),
        ("other = 1", "should be 'graph' in 'agent.py', but nothing there has that name"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named_with_the_graph(
    tmp_path: Path, content: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "agent.py").write_text(content)

    with pytest.raises(ConfigurationError, match=said) as refused:
        await GraphRegistry.from_specs({"g": "./agent.py:graph"}, tmp_path).check()

    assert "'g'" in str(refused.value)
    assert "agent.py" in str(refused.value)
    assert str(tmp_path) not in str(refused.value)
    assert "sk-123" not in str(refused.value)
    assert (refused.value.__cause__ is None) == ("nothing there" in said)
    assert any(record.exc_info for record in caplog.records) == ("The log has" in said or "It mentions" in said)


async def test_a_file_that_was_mended_can_be_loaded_without_a_restart(tmp_path: Path) -> None:
    registry = GraphRegistry.from_specs({"g": "./agent.py:graph"}, tmp_path)
    with pytest.raises(ConfigurationError, match=r"names the file 'agent\.py', which does not exist"):
        await registry.check()

    (tmp_path / "agent.py").write_text(FILE.format(imports="", value=1))

    assert (await _point(registry)).x == 1


async def test_the_graphs_of_this_repository_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_MODEL", "openai:gpt-4.1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    project = read_langgraph_json(Path(__file__).parents[4] / "langgraph.json")
    project.enter()

    await GraphRegistry.from_project(project).check()


# Strict reading of checkpoints.


@dataclasses.dataclass
class Point:
    x: int


class Note(BaseModel):
    text: str


class Colour(Enum):
    RED = "red"


class Inner(TypedDict, total=False):
    colour: Colour


class State(TypedDict, total=False):
    point: Point
    note: Note
    hidden: Any
    colour: Colour


@dataclasses.dataclass
class Hidden:
    x: int


def _state_graph() -> StateGraph[Any, Any, Any, Any]:
    inner = StateGraph(Inner).add_node("paint", lambda state: {"colour": Colour.RED}).add_edge(START, "paint").compile()

    def write(state: State) -> State:
        return {"point": Point(1), "note": Note(text="n"), "hidden": Hidden(2)}

    return StateGraph(State).add_node("write", write).add_node("sub", inner).add_edge(START, "write").add_edge("write", "sub")


def _strict_saver() -> InMemorySaver:
    return InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))


async def _read_back(registry: GraphRegistry) -> dict[str, Any]:
    saver, config = _strict_saver(), RunnableConfig(configurable={"thread_id": "t"})
    async with registry.graph("g", saver=saver, store=None, purpose="run") as graph:
        await graph.ainvoke({}, config)
    async with registry.graph("g", saver=saver, store=None, purpose="read") as graph:
        return dict((await graph.aget_state(config)).values)


@pytest.mark.parametrize("export", [_state_graph(), lambda config: _state_graph().compile()])
async def test_classes_of_a_graphs_state_come_back_from_a_strict_saver_and_others_do_not(export: Any) -> None:
    values = await _read_back(serve(g=export))

    assert (values["point"], values["note"], values["colour"]) == (Point(1), Note(text="n"), Colour.RED)
    assert not isinstance(values["hidden"], Hidden)


async def test_a_class_that_the_project_names_comes_back_too() -> None:
    registry = GraphRegistry({"g": GraphSource.of(_state_graph())}, extra_classes=[(Hidden.__module__, "Hidden")])

    assert (await _read_back(registry))["hidden"] == Hidden(2)


async def test_without_our_list_a_strict_saver_gives_plain_data() -> None:
    """Pins why the list is made here: LangGraph makes none unless a variable was set before it was imported."""
    saver, config = _strict_saver(), RunnableConfig(configurable={"thread_id": "t"})
    graph = _state_graph().compile(checkpointer=saver)
    await graph.ainvoke({}, config)

    assert graph._serde_allowlist is None
    assert not isinstance((await graph.aget_state(config)).values["point"], Point)


@entrypoint()
def grow(x: int, *, previous: Point | None = None) -> Point:
    return Point(x + (previous.x if previous else 0))


@entrypoint()
async def grow_apart(x: int, *, previous: Point | None = None) -> entrypoint.final[int, Point]:
    return entrypoint.final(value=(previous.x if previous else 0), save=Point(x))


@pytest.mark.parametrize(("export", "gives"), [(grow, [Point(1), Point(3)]), (grow_apart, [0, 1])])
async def test_classes_of_a_function_graph_come_back(export: Any, gives: list[Any]) -> None:
    saver, config = _strict_saver(), RunnableConfig(configurable={"thread_id": "t"})
    async with serve(g=export).graph("g", saver=saver, store=None, purpose="run") as graph:
        assert [await graph.ainvoke(x, config) for x in (1, 2)] == gives


def _connected(connection_id: str, revision: int = 1) -> RunModels:
    return RunModels(ConnectedModel(connection_id, revision, "openai", "gpt", "A key", Secret("sk")))


async def test_a_factorys_graph_is_kept_per_models_and_built_while_they_are_current() -> None:
    built: list[RunModels | None] = []

    def make() -> Any:
        built.append(current_models())
        return _builder()

    registry = GraphRegistry({"one": GraphSource.of(make)})

    async def open_with(models: RunModels | None) -> None:
        async with registry.graph("one", saver=None, store=None, purpose="run", models=models):
            assert current_models() is None

    ada, ben = _connected("ada"), _connected("ben")
    for models in (ada, ben, None, ada, ben, _connected("ada", revision=2)):
        await open_with(models)
    assert built == [ada, ben, None, _connected("ada", revision=2)]
    for number in range(20):
        await open_with(_connected(str(number)))
    await open_with(ada)
    assert built.count(ada) == 2, "the graphs that were not used for longest are dropped"


async def test_uses_without_models_of_their_own_get_those_of_the_owner_and_the_thread() -> None:
    asked: list[tuple[str | None, str | None]] = []
    built: list[RunModels | None] = []

    def make() -> Any:
        built.append(current_models())
        return _builder()

    async def find(owner: str | None, thread_id: str | None) -> RunModels | None:
        asked.append((owner, thread_id))
        return _connected(owner or "")

    registry = GraphRegistry({"one": GraphSource.of(make)})
    registry.find_models = find
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    async with registry.graph("one", config=config, saver=None, store=None, purpose="read", owner="ada"):
        pass
    assert asked == [("ada", "t")]
    assert await registry.readiness("ben") == {"one": None}
    assert built == [_connected("ada"), _connected("ben")]


async def test_a_graph_that_an_import_makes_is_not_built_with_the_models_of_the_first_user() -> None:
    seen: list[RunModels | None] = []

    def load() -> Any:
        seen.append(current_models())
        return _builder()

    registry = GraphRegistry({"one": GraphSource(load, "a test")})
    async with registry.graph("one", saver=None, store=None, purpose="run", models=_connected("ada")):
        pass
    assert seen == [None]


async def test_a_graph_that_lacks_only_a_model_does_not_stop_the_server_and_is_not_refused_to_runs_that_bring_one() -> None:
    async def find_none(owner: str | None, thread_id: str | None) -> RunModels | None:
        return None

    registry = serve(lacking=_fails)
    await registry.check()
    assert "No model" in registry.problems["lacking"]
    with pytest.raises(GraphBuildError):
        await registry.require_built("lacking")
    registry.find_models = find_none
    await registry.require_built("lacking")


def test_file_that_two_threads_import_is_complete_for_both(tmp_path: Path) -> None:
    (tmp_path / "slow_import.py").write_text("import time\ntime.sleep(0.3)\ngraph = object()\n")
    source = GraphSource.from_spec("slow", GraphSpec("./slow_import.py:graph"), tmp_path)
    with ThreadPoolExecutor() as threads:
        first, second = threads.map(lambda _: source.load(), range(2))
    assert first is second
