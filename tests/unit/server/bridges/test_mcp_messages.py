"""Ids of JSON-RPC messages."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.server.bridges.mcp.messages import RpcError, read_id


@pytest.mark.parametrize("given", [None, 0, -1, 2**53 - 1, "", "a", "x" * 200, "ü"])
def test_texts_and_whole_numbers_are_ids(given: Any):
    assert read_id({"id": given}) == given


@pytest.mark.parametrize("given", [True, 1.5, 2**53, 10**30, "x" * 201, "\ud800", [], {}])
def test_what_could_not_be_sent_back_is_no_id(given: Any):
    with pytest.raises(RpcError, match="The id of a message"):
        read_id({"id": given})
