"""Prices are whole sats, and never rounded down."""

from __future__ import annotations

import pytest

from stepwell.errors import ConfigurationError
from stepwell.payments.pricing import CallSize, FlatPrice, Rate, TokenPrice

BY_MODEL = TokenPrice({"small": Rate(100, 400), "*": Rate(1000, 4000)})


def test_a_flat_price_is_the_same_for_every_call():
    assert [FlatPrice(3).cost(CallSize("m", tokens, tokens)) for tokens in (0, 10**6)] == [3, 3]
    assert FlatPrice(3).describe() == {"kind": "flat", "sats_per_call": 3}


@pytest.mark.parametrize(
    ("call", "sats"),
    [
        (CallSize("small", 0, 0), 1),
        (CallSize("small", 10_000, 0), 1),
        (CallSize("small", 10_001, 0), 2),
        (CallSize("small", 1_000_000, 1_000_000), 500),
        (CallSize("large", 1_000_000, 1_000_000), 5000),
    ],
)
def test_a_price_by_tokens_is_rounded_up_once(call: CallSize, sats: int):
    assert BY_MODEL.cost(call) == sats


def test_a_model_without_a_price_is_refused():
    with pytest.raises(ConfigurationError, match="'large'"):
        TokenPrice({"small": Rate(1, 1)}).cost(CallSize("large"))
    assert BY_MODEL.describe()["models"]["small"] == {"input_sats_per_million": 100, "output_sats_per_million": 400}


@pytest.mark.parametrize("sats", [-1, 0.5, True, "3", None])
def test_what_is_no_whole_number_of_sats_is_refused(sats: object):
    with pytest.raises(ConfigurationError, match="whole number"):
        FlatPrice(sats)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        TokenPrice({})
