"""The models of a run: which one is chosen, what it is built with, and that each answer says which model wrote it."""

import asyncio

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from pydantic import Field

from stepwell.errors import LimitReachedError, ModelUnavailableError
from stepwell.models import choose_model, find_model, resolve_model
from stepwell.models.connected import ConnectedModel, RunModels, current_models, using
from stepwell.models.connected_calls import note_calls
from stepwell.models.provider_guide import guide_of
from stepwell.models.routing import ModelRoutes
from stepwell.settings import Secret, Settings
from stepwell.testing import ScriptedModel

KEY = "sk-recognisable-0123456789"
MINE = ConnectedModel("c1", 1, "openai", "gpt-5.5", "My OpenAI key", Secret(KEY))
OTHER = ConnectedModel("c2", 1, "openai", "gpt-5.5-mini", "Small", Secret("sk-other"))
NOTHING = Settings.load({})
ENVIRONMENT = Settings.load({"ANTHROPIC_API_KEY": "sk-ant-of-the-operator"})


def test_a_stored_default_is_used_if_the_environment_names_no_model():
    with using(RunModels(MINE)):
        assert choose_model(None, NOTHING, embedded_fallback=True).connected == MINE
        assert choose_model(None, ENVIRONMENT).provider == "anthropic"
    assert find_model(NOTHING) is None
    assert current_models() is None


def test_an_explicit_choice_replaces_the_environments_models():
    settings = Settings.load({"ANTHROPIC_API_KEY": "sk-ant", "STEPWELL_MODEL_WRITE": "anthropic:claude-x"})
    with using(RunModels(MINE, {"plan": OTHER}, explicit=True)):
        assert choose_model(None, settings).connected == MINE
        routes = ModelRoutes.from_settings(settings)
    assert [routes[kind].model_name for kind in ("plan", "write", "audit")] == ["gpt-5.5-mini", "gpt-5.5", "gpt-5.5"]


def test_a_task_of_the_environment_beats_a_stored_one_which_beats_the_environments_default():
    settings = Settings.load(
        {"STEPWELL_MODEL": "openai:gpt-of-env", "OPENAI_API_KEY": "sk", "STEPWELL_MODEL_WRITE": "openai:writer"}
    )
    with using(RunModels(None, {"plan": OTHER, "write": OTHER})):
        routes = ModelRoutes.from_settings(settings)
    assert [routes[kind].model_name for kind in ("plan", "write", "audit")] == ["gpt-5.5-mini", "writer", "gpt-of-env"]


def test_a_connection_never_mixes_with_the_environments_key_or_address(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-operator")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway.internal/v1")
    with using(RunModels(MINE, explicit=True)):
        own_key = resolve_model(None)
    keyless = ConnectedModel("c3", 1, "openai", "m", "Elsewhere", None, "https://models.example/v1")
    with using(RunModels(keyless, explicit=True)):
        elsewhere = resolve_model(None)
    assert isinstance(own_key, ChatOpenAI)
    assert isinstance(elsewhere, ChatOpenAI)
    assert own_key.openai_api_key.get_secret_value() == KEY
    assert own_key.openai_api_base == "https://api.openai.com/v1"
    assert elsewhere.openai_api_key.get_secret_value() == "none"
    assert elsewhere.openai_api_base == "https://models.example/v1"


ENVIRONMENTS_ADDRESS = "http://gateway.internal:81/v1"


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google_genai", "mistralai", "ollama", "lm-studio", "llamacpp"])
def test_without_an_address_a_connection_goes_to_the_providers_own(monkeypatch, provider):
    variables = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "OLLAMA_HOST",
                 "MISTRAL_BASE_URL", "GOOGLE_GEMINI_BASE_URL")  # fmt: skip
    for variable in variables:
        monkeypatch.setenv(variable, ENVIRONMENTS_ADDRESS)
    with using(RunModels(ConnectedModel("c", 1, provider, "m", "Mine", Secret(KEY)), explicit=True)):
        built = resolve_model(None, settings=NOTHING)
    usual = guide_of(provider).address
    assert usual
    assert usual in {getattr(built, name, None) for name in ("base_url", "anthropic_api_url", "openai_api_base", "endpoint")}


def test_a_connection_without_any_address_is_not_sent_to_the_environments(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", ENVIRONMENTS_ADDRESS)
    lost = ConnectedModel("c", 1, "openai-compatible", "m", "Lost", Secret(KEY))
    with using(RunModels(lost, explicit=True)), pytest.raises(ModelUnavailableError, match="'Lost' has no address"):
        resolve_model(None, settings=NOTHING)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-compatible"])
def test_headers_of_the_environment_stay_there(monkeypatch, provider):
    for variable in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(variable, "of-the-operator")
    for variable in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(variable, "X-Gateway: of-the-operator")
    elsewhere = ConnectedModel("c", 1, provider, "m", "Elsewhere", Secret(KEY), "https://models.example/v1")
    with using(RunModels(elsewhere, explicit=True)):
        built = resolve_model(None, settings=NOTHING)
    client = getattr(built, "root_async_client", None) or built._async_client
    assert "of-the-operator" not in str(dict(client.default_headers))


def test_two_runs_share_a_key_only_if_everything_that_matters_is_the_same():
    changed = ConnectedModel("c1", 2, "openai", "gpt-5.5", "My OpenAI key", Secret("new"))
    models = [
        RunModels(MINE),
        RunModels(OTHER),
        RunModels(changed),
        RunModels(MINE, explicit=True),
        RunModels(None, {"plan": MINE}),
    ]
    assert len({each.key for each in models}) == len(models)
    assert RunModels(MINE, user="ada").key == RunModels(MINE, user="ben").key
    assert RunModels().key == ""
    assert not any(KEY in each.key or KEY in repr(each) for each in models)


async def test_each_answer_says_which_model_wrote_it():
    model = note_calls(ScriptedModel(["Hello."]), MINE)
    answer = await model.ainvoke("Hi")
    assert answer.response_metadata["stepwell_model"] == {"provider": "openai", "model": "gpt-5.5", "label": "My OpenAI key"}


class Watch:
    def __init__(self, *, refuse: bool = False) -> None:
        self.seen: list[tuple[str, str | None, object]] = []
        self._refuse = refuse

    async def before(self, model, user, expected):
        self.seen.append(("before", user, expected.tokens.input > 0))
        if self._refuse:
            raise LimitReachedError("The limit of this connection for today is reached.")

        async def settle(usage):
            self.seen.append(("after", user, (usage.tokens.input > 0, usage.tokens.output > 0)))

        return settle


async def test_a_watch_sees_every_call_of_the_run_it_belongs_to():
    model, watch = note_calls(ScriptedModel(["Hello.", "Again."]), MINE), Watch()
    with using(RunModels(MINE, user="ada", watch=watch)):
        await model.ainvoke("Hi")
    await model.ainvoke("Hi")  # another run, without a watch
    assert watch.seen == [("before", "ada", True), ("after", "ada", (True, True))]


async def test_a_watch_can_refuse_a_call():
    script = ScriptedModel(["Hello."])
    with using(RunModels(MINE, watch=Watch(refuse=True))), pytest.raises(LimitReachedError):
        await note_calls(script, MINE).ainvoke("Hi")


class Slow(ScriptedModel):
    """Says some words, then nothing."""

    words: int = 1
    began: asyncio.Event = Field(default_factory=asyncio.Event)

    async def _agenerate(self, *args, **kwargs):
        await self._hang()

    async def _astream(self, *args, **kwargs):
        for _ in range(self.words):
            yield ChatGenerationChunk(message=AIMessageChunk("Hello there."))
        await self._hang()

    async def _hang(self):
        self.began.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize(("streams", "words"), [(False, 0), (True, 0), (True, 1)])
async def test_a_cancelled_call_is_counted_with_what_was_sent_and_said(streams, words):
    watch = Watch()
    model = note_calls(Slow(["never"], words=words), MINE)
    models = RunModels(MINE, user="ada", watch=watch)

    async def ask():
        if not streams:
            await model.ainvoke("What is this?")
        async for _ in model.astream("What is this?"):
            pass

    with using(models):
        asking = asyncio.create_task(ask())
        await model.began.wait()
        asking.cancel()
        await asyncio.wait({asking})
        await models.settle()
    assert watch.seen == [("before", "ada", True), ("after", "ada", (True, words > 0))]
    assert not model.callbacks[0].open_calls
    assert not models.open_calls
