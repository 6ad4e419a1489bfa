"""Rows are stored packed, and read in every form that a version has stored them in."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from stepwell.database.checkpoints.packing import (
    _WORDS,
    PACKED,
    PackedSerializer,
    pack,
    pack_metadata,
    unpack,
    unpack_metadata,
)

METADATA: dict[str, Any] = {
    "source": "loop",
    "step": 3951,
    "parents": {},
    "counters_since_delta_snapshot": {"messages": [1955, 1955]},
    "run_id": "fdfcfd7a-69ba-4c4e-98f6-4cb0f2d58a62",
}


def test_the_dictionary_never_changes():
    """Rows that were packed with it could not be read any more. A better one gets a new form."""
    assert sha256(_WORDS).hexdigest() == "d7f2161431301d0cf53f6d05d676b10f1e8c6ba6ffb8c8503e7f9fad54f6e186"


def test_rows_of_the_first_packed_form_are_read():
    assert PackedSerializer(JsonPlusSerializer()).loads_typed(
        (PACKED, bytes.fromhex("9b787c13a9c967a94b7e5eaa1e996968a12135520800"))
    ) == [AIMessage("Done.", id="1")]
    assert unpack_metadata("z1 w9UOMbY0pagpYmlqqgMiQE0OeBshLSUtOS3FPFHXzDIpUdck2SRV19IizQzISjJIM0oxtUg0M1KqBQA=") == METADATA


def test_rows_of_older_versions_are_read():
    plain = JsonPlusSerializer().dumps_typed([AIMessage("Done.", id="1")])
    assert PackedSerializer(JsonPlusSerializer()).loads_typed(plain) == [AIMessage("Done.", id="1")]
    assert unpack_metadata('{"source":"loop","step":1}') == {"source": "loop", "step": 1}
    assert unpack_metadata("") == {}


@given(st.binary(max_size=300) | st.sampled_from([b"messages" * 20_000, os.urandom(70_000), b"x" * 300_000]))
def test_whatever_is_packed_comes_back(data: bytes):
    assert unpack(pack(("msgpack", data))) == ("msgpack", data)
    assert len(pack(("msgpack", data))[1]) <= len(data)


@given(st.dictionaries(st.text(), st.none() | st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans()))
def test_metadata_comes_back(metadata: dict[str, Any]):
    try:
        stored = pack_metadata(orjson.dumps(metadata))
    except TypeError:  # half of a surrogate pair, which JSON cannot hold
        return
    assert unpack_metadata(stored) == metadata


@pytest.mark.parametrize("form", ["null", "bytes", "bytearray", "json"])
def test_other_forms_are_left_alone(form: str):
    assert pack((form, b"messages" * 100)) == (form, b"messages" * 100) == unpack((form, b"messages" * 100))


def test_a_message_and_its_metadata_shrink_to_a_third():
    plain = JsonPlusSerializer().dumps_typed([AIMessage("Done.", id="lc_run--01a1ee3a-2b39-7410-835d-b5096b33b143-0")])
    assert 3 * len(pack(plain)[1]) < len(plain[1])
    assert len(pack_metadata(orjson.dumps(METADATA))) < 2 / 3 * len(str(METADATA))


def test_values_too_large_to_deflate_are_stored_as_they_are():
    assert pack(("msgpack", b"x" * 300_000)) == ("msgpack", b"x" * 300_000)
