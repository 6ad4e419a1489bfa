"""How long a conversation is, without counting it again on every step."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from stepwell.models.token_count import IncrementalCounter


def conversation(length: int) -> list[AnyMessage]:
    kinds = (HumanMessage, AIMessage)
    return [kinds[n % 2](f"message {n}", id=f"m{n}") for n in range(length)]


def test_counter_counts_each_message_once():
    """Speed: a step counts only what is new."""
    counted = []

    def count(messages):
        counted.extend(messages)
        return 10 * len(messages)

    counter = IncrementalCounter(count)
    thread = conversation(10)
    assert counter.total(thread) == 100
    assert counter.total([*thread, HumanMessage("new", id="n")]) == 110
    assert len(counted) == 11


def test_counter_trusts_the_provider_s_report():
    report = AIMessage("x", id="r", usage_metadata={"input_tokens": 900, "output_tokens": 100, "total_tokens": 1000})
    counter = IncrementalCounter(lambda messages: len(messages))
    assert counter.total([*conversation(6), report, HumanMessage("new", id="n")]) == 1001
