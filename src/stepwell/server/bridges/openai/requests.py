"""A request for a chat completion, and what it means for an assistant.

What the assistant decides itself is accepted and ignored: temperature, limits of tokens, penalties, seeds. What would change the meaning
of the response if it were ignored is refused: several choices, a form of the answer, probabilities, audio, tools where the graph cannot
offer them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import orjson
from pydantic import ConfigDict, Field, field_validator

from stepwell.database.types import Assistant
from stepwell.errors import InvalidRequestError, NotFoundError, StepwellError
from stepwell.server.bridges.content import text_of
from stepwell.server.bridges.incoming import messages_fault
from stepwell.server.bridges.naming import NamedAssistant, named_assistants
from stepwell.server.bridges.openai.marks import marked_thread, without_mark
from stepwell.server.bridges.turns import read_thread_id
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.schemas.fields import WireModel

THREAD_HEADER = "x-thread-id"
Json = Mapping[str, Any]
_log = logging.getLogger("stepwell.server")
_ROLES = {"developer": "system", "system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


class CalledFunction(WireModel):
    """A function that the model has called, in a message of the past."""

    model_config = ConfigDict(extra="ignore")

    name: Annotated[str, Field(min_length=1, max_length=256)]
    arguments: str = ""

    @field_validator("arguments")
    @classmethod
    def _read_arguments(cls, text: str) -> str:
        try:
            read = orjson.loads(text.strip() or "{}")
        except ValueError:
            read = None
        if not isinstance(read, dict):
            raise ValueError("it must be a JSON object, as text")
        return text if text.strip() else "{}"


class ToolCall(WireModel):
    model_config = ConfigDict(extra="ignore")

    id: Annotated[str, Field(min_length=1, max_length=256)]
    type: Literal["function"] = "function"
    function: CalledFunction


class ChatMessage(WireModel):
    """One message, in any form that OpenAI's clients send."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | Annotated[list[dict[str, Any]], Field(max_length=1000)] | None = None
    tool_calls: Annotated[list[ToolCall], Field(max_length=1000)] | None = None
    tool_call_id: Annotated[str, Field(max_length=256)] | None = None


class CallerFunction(WireModel):
    model_config = ConfigDict(extra="ignore")

    name: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")]
    description: Annotated[str, Field(max_length=10_000)] | None = None
    parameters: dict[str, Any] | None = None


class CallerTool(WireModel):
    """A function that the caller carries out."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["function"]
    function: CallerFunction


class StreamOptions(WireModel):
    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatRequest(WireModel):
    """The body of `POST /v1/chat/completions`."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(min_length=1, max_length=256)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=10_000)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    tools: Annotated[list[CallerTool], Field(max_length=128)] | None = None
    tool_choice: Any = None
    functions: Any = None
    n: int | None = None
    logprobs: bool | None = None
    response_format: dict[str, Any] | None = None
    modalities: list[str] | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True)
class Conversation:
    """What a request asks of an assistant."""

    assistant_id: str
    messages: Sequence[Json]
    thread_id: str | None = None
    """The thread that the client names."""
    waiting_id: str | None = None
    """The thread that the last question names, if the last message may be its answer."""
    tools: Sequence[Json] = ()
    """Functions that the caller carries out, in OpenAI's form."""

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(tool["function"]["name"] for tool in self.tools)

    @property
    def last(self) -> str:
        """The text of the last message."""
        return text_of(self.messages[-1])

    @property
    def new(self) -> list[Json]:
        """What follows the last answer: on a thread, the rest is known."""
        answers = [number for number, message in enumerate(self.messages) if message["role"] == "assistant"]
        return list(self.messages[answers[-1] + 1 :] if answers else self.messages)


async def read_conversation(
    services: Services, principal: Principal, body: ChatRequest, headers: Mapping[str, str]
) -> Conversation:
    """What a request means. Raises an `InvalidRequestError` for what cannot be done."""
    _refuse_what_would_be_ignored(body)
    model = await find_model(services, principal, body.model)
    messages = [_message(number, each) for number, each in enumerate(body.messages)]
    if fault := messages_fault(messages):
        raise InvalidRequestError(fault)
    if messages[-1]["role"] == "assistant":
        raise InvalidRequestError("The last message is the assistant's. Send one of the user after it.")
    tools = [] if body.tool_choice == "none" else _read_tools(body)
    if tools and not await services.registry.takes_caller_tools(model.assistant.graph_id, principal.owner):
        raise InvalidRequestError(
            f"The model '{body.model}' is an assistant with tools of its own, and takes none from its caller. Leave 'tools' out, send "
            '"tool_choice": "none", or build the agent with CallerToolsMiddleware.'
        )
    return Conversation(
        model.assistant.assistant_id,
        [_unmarked(each) for each in messages],
        _named_thread(body, headers),
        _waiting_thread(messages),
        tools,
    )


async def chat_models(services: Services, principal: Principal) -> list[NamedAssistant]:
    """The assistants that take messages."""
    found = await named_assistants(services, principal)
    return [each for each in found if await takes_messages(services, principal, each.assistant)]


async def find_model(services: Services, principal: Principal, name: str) -> NamedAssistant:
    """An assistant by its name here, its id or its graph."""
    known = await named_assistants(services, principal)
    found = next((each for each in known if name in (each.name, each.assistant.assistant_id)), None)
    if found is None:
        listed = ", ".join(each.name for each in known[:20]) or "none"
        raise NotFoundError("model", name, f"Models of this server: {listed}.")
    await services.assistants.resolve(principal.owner, found.assistant.assistant_id)  # says why a graph cannot be built
    if not await takes_messages(services, principal, found.assistant):
        raise InvalidRequestError(
            f"The graph '{found.assistant.graph_id}' takes no messages, so it cannot chat. Start it with POST /runs/wait, or over MCP."
        )
    return found


async def takes_messages(services: Services, principal: Principal, assistant: Assistant) -> bool:
    """Whether one can chat with an assistant. False if its graph cannot be built."""
    owner = principal.owner
    fields = await services.registry.input_fields(assistant.graph_id, owner, services.persistence.store(owner))
    if fields is not None:
        return "messages" in fields
    try:
        schema = (await services.assistants.schemas(owner, assistant.assistant_id))["input_schema"]
    except StepwellError as error:
        _log.info("the assistant '%s' is not offered as a model: %s", assistant.name, error)
        return False
    return schema is None or "messages" in (schema.get("properties") or ())


def _refuse_what_would_be_ignored(body: ChatRequest) -> None:
    if body.n not in (None, 1):
        raise InvalidRequestError("'n' is 1: an assistant gives one answer. Send several requests for several.")
    if body.response_format and body.response_format.get("type") != "text":
        raise InvalidRequestError(
            '\'response_format\' is decided by the assistant\'s graph (its response_format). Leave it out, or send {"type": "text"}.'
        )
    if body.modalities and body.modalities != ["text"]:
        raise InvalidRequestError("'modalities' is [\"text\"]: assistants answer with text.")
    if body.logprobs:
        raise InvalidRequestError("'logprobs' is false: an assistant's answer has no probabilities. Leave it out.")
    if body.functions:
        raise InvalidRequestError("'functions' is the old form of 'tools'. Send 'tools'.")


def _read_tools(body: ChatRequest) -> list[Json]:
    if body.tools and body.tool_choice not in (None, "auto"):
        raise InvalidRequestError('\'tool_choice\' is "auto" or "none": the assistant decides which tools it needs.')
    return [tool.model_dump(exclude_none=True) for tool in body.tools or ()]


def _message(number: int, message: ChatMessage) -> Json:
    """A message as LangGraph takes it. Parts of the content pass as they are: LangChain reads OpenAI's forms."""
    content = message.content if message.content is not None else ""
    made: dict[str, Any] = {"role": _ROLES[message.role], "content": content}
    if message.tool_calls:
        made["tool_calls"] = [call.model_dump() for call in message.tool_calls]
    if message.role == "tool":
        if not message.tool_call_id:
            raise InvalidRequestError(f"messages[{number}] is a tool's result, so it needs 'tool_call_id': the id of the call.")
        made["tool_call_id"] = message.tool_call_id
    return made


def _named_thread(body: ChatRequest, headers: Mapping[str, str]) -> str | None:
    named = headers.get(THREAD_HEADER) or (body.metadata or {}).get("thread_id")
    return read_thread_id(named) if named else None


def _waiting_thread(messages: Sequence[Json]) -> str | None:
    """The thread whose question the last message answers."""
    if len(messages) < 2 or messages[-1]["role"] != "user" or messages[-2]["role"] != "assistant":
        return None
    return marked_thread(text_of(messages[-2]))


def _unmarked(message: Json) -> Json:
    if message["role"] != "assistant" or not isinstance(message["content"], str):
        return message
    return {**message, "content": without_mark(message["content"])}
