"""Summarises long conversations: the model sees a summary of the first part, then the last messages unchanged. The thread keeps everything.

LangChain's middleware of the same name replaces the messages in the thread and counts the whole history on every step. Here the
summary is only a view: it is stored beside the messages (`summary`: a text and the id of the last message it covers). So the transcript
stays complete, a restart does not pay for the summary again, and a step that needs no summary costs a few dictionary look-ups.

If the provider says that the context is too long although our count said otherwise, we summarise the conversation at once and ask the
model again, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage, get_buffer_string
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from stepwell.errors import ConfigurationError
from stepwell.middleware.moments.asking import Course, arun, run
from stepwell.middleware.moments.compaction import CompactionHooks
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import ModelCall, RequestMiddleware
from stepwell.models.token_count import IncrementalCounter, MessageCounter
from stepwell.state.channels import incremental
from stepwell.state.schema import Summary, reduce_summary

DEFAULT_TRIGGER_TOKENS = 170_000
WINDOW_SHARE = 0.85
DEFAULT_KEEP_MESSAGES = 6
INPUT_CHARS_PER_TRIGGER_TOKEN = 3
"""Limits the text of one summarising call, because its model usually has the same window. The middle of a longer text is left out."""
EXCERPT_CHARS = 2_000

# The summary's tokens are not the agent's answer, so they stay out of message streams.
_QUIETLY: RunnableConfig = {"tags": [TAG_NOSTREAM], "metadata": {"lc_source": "summarization"}}


class SummarizationState(AgentState[Any]):
    summary: NotRequired[Annotated[Summary, PrivateStateAttr, incremental(reduce_summary)]]


class SummarizationMiddleware(RequestMiddleware):
    """Summarises at `trigger_tokens` (default: 85 % of the model's known window, or 170,000) and keeps the last messages."""

    state_schema = SummarizationState

    def __init__(
        self,
        model: BaseChatModel,
        *,
        trigger_tokens: int | None = None,
        keep_messages: int = DEFAULT_KEEP_MESSAGES,
        token_counter: MessageCounter | None = None,
        summary_prompt: str | None = None,
    ) -> None:
        super().__init__()
        if keep_messages < 1:
            raise ConfigurationError(f"keep_messages is {keep_messages}; at least the last message must be kept.")
        self.model = model
        self.trigger_tokens = trigger_tokens or default_trigger(model)
        self.keep_messages = keep_messages
        self._counter = IncrementalCounter(token_counter) if token_counter else IncrementalCounter()
        self._summary_prompt = summary_prompt or load_prompt("summarize")
        self._hooks: Sequence[CompactionHooks] = ()

    def with_hooks(self, hooks: Sequence[CompactionHooks]) -> SummarizationMiddleware:
        """The same middleware with functions around its summaries."""
        hooked = copy(self)
        hooked._hooks = hooks
        return hooked

    def prepare(self, call: ModelCall) -> None:
        view = _view(call)
        if self._is_too_long(view):
            view = self._shorter(call, view) or view
        view.show_in(call)

    async def aprepare(self, call: ModelCall) -> None:
        view = _view(call)
        if self._is_too_long(view):
            view = await self._ashorter(call, view) or view
        view.show_in(call)

    def recover(self, call: ModelCall, error: Exception) -> dict[str, Any] | None:
        if not isinstance(error, ContextOverflowError):
            return None
        shorter = self._shorter(call, _view(call, whole=True))
        return {"summary": shorter.summary} if shorter else None

    async def arecover(self, call: ModelCall, error: Exception) -> dict[str, Any] | None:
        if not isinstance(error, ContextOverflowError):
            return None
        shorter = await self._ashorter(call, _view(call, whole=True))
        return {"summary": shorter.summary} if shorter else None

    def _is_too_long(self, view: ConversationView) -> bool:
        return self._counter.total(view.messages, reports_from=view.answered_from) >= self.trigger_tokens

    def _shorter(self, call: ModelCall, view: ConversationView) -> ConversationView | None:
        shorter: ConversationView | None = run(self._shorten(call, view), lambda asked: self.model.invoke(asked, _QUIETLY))
        return shorter

    async def _ashorter(self, call: ModelCall, view: ConversationView) -> ConversationView | None:
        shorter: ConversationView | None = await arun(
            self._shorten(call, view), lambda asked: self.model.ainvoke(asked, _QUIETLY)
        )
        return shorter

    def _shorten(self, call: ModelCall, view: ConversationView) -> Course:
        """A course that ends with a shorter view, or with None if there is nothing to summarise or a hook refuses the summary."""
        cut = view.next_cut(self.keep_messages)
        if cut is None:
            return None
        text: str | None = get_buffer_string(view.before(cut))
        for hooks in self._hooks:
            text = yield from hooks.before(call, text or "")
            if text is None:
                return None
        answer = yield self._prompt_for_summary(text or "")
        summary: str | None = answer.text.strip() or view.excerpt(cut)
        for hooks in self._hooks:
            summary = yield from hooks.after(call, summary or "")
            if summary is None:
                return None
        return view.with_summary(cut, summary or "")

    def _prompt_for_summary(self, text: str) -> list[AnyMessage]:
        room = self.trigger_tokens * INPUT_CHARS_PER_TRIGGER_TOKEN
        if len(text) > room:
            text = f"{text[: room // 2]}\n(… the middle is left out …)\n{text[-room // 2 :]}"
        return [HumanMessage(f"{self._summary_prompt}\n\n<conversation>\n{text}\n</conversation>")]


class ConversationView:
    """A thread's messages as the model sees them: a summary of the first `covered` ones, then the rest."""

    def __init__(self, thread: Sequence[AnyMessage], summary: Summary | None) -> None:
        self._thread = thread
        self._covered = _position_behind(thread, summary["until"]) if summary else 0
        self.summary = summary if self._covered else None
        self.messages: list[AnyMessage] = (
            [_spoken(self.summary), *thread[self._covered :]] if self.summary else cast("list[AnyMessage]", thread)
        )
        self.answered_from = _position_behind(self.messages, self.summary.get("made_at")) if self.summary else 0
        """The position of the first message that came after this view was made. Usage reported earlier refers to a longer view."""

    def show_in(self, call: ModelCall) -> None:
        """Show this view to the model, and store its summary in the thread."""
        if self.summary is None:
            return
        call.messages = self.messages
        if call.stored("summary") != self.summary:
            call.update["summary"] = self.summary

    def next_cut(self, keep: int) -> int | None:
        """The position of the first message to keep; None if there is nothing before it to summarise. A tool result stays with its call."""
        cut = len(self._thread) - keep
        while cut > self._covered and self._thread[cut].type == "tool":
            cut -= 1
        return cut if cut > self._covered else None

    def before(self, cut: int) -> list[AnyMessage]:
        """What a new summary has to cover: the old summary and the messages after it."""
        return [*([_spoken(self.summary)] if self.summary else []), *self._thread[self._covered : cut]]

    def excerpt(self, cut: int) -> str:
        """The text that replaces the summary if the summariser returned nothing, since asking again on every step would not help."""
        text = get_buffer_string(self.before(cut))
        if len(text) > 2 * EXCERPT_CHARS:
            text = f"{text[:EXCERPT_CHARS]}\n(…)\n{text[-EXCERPT_CHARS:]}"
        return f"(No summary could be written; this is how the conversation began and went on.)\n{text}"

    def with_summary(self, cut: int, text: str) -> ConversationView:
        """The view with a new summary up to `cut`."""
        return ConversationView(self._thread, _summary(text.strip() or self.excerpt(cut), self._thread, cut))


def default_trigger(model: BaseChatModel) -> int:
    """85 % of the model's window if known, otherwise 170,000 tokens."""
    window = (model.profile or {}).get("max_input_tokens")
    return int(window * WINDOW_SHARE) if window else DEFAULT_TRIGGER_TOKENS


def _view(call: ModelCall, *, whole: bool = False) -> ConversationView:
    """The conversation as prepared so far or, with `whole`, as stored in the thread."""
    return ConversationView(call.request.messages if whole else call.messages, call.stored("summary"))


def _summary(text: str, thread: Sequence[AnyMessage], cut: int) -> Summary:
    return {"text": text, "until": thread[cut - 1].id or "", "made_at": thread[-1].id or ""}


def _spoken(summary: Summary) -> HumanMessage:
    # The id is derived from the covered part, so that the token totals of this view are reused from step to step.
    return HumanMessage(f"Summary of our conversation so far:\n\n{summary['text']}", id=f"summary-{summary['until']}")


def _position_behind(thread: Sequence[AnyMessage], message_id: str | None) -> int:
    """The position after a message; 0 if the message is gone, so that a stale summary is dropped."""
    if not message_id:
        return 0
    for position, message in enumerate(thread):
        if message.id == message_id:
            return position + 1
    return 0
