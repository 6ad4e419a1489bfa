"""Packed answers are unpacked within bounds."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.errors import FetchFailedError
from stepwell.tools.web.unpacking import unpacker


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}


@given(st.sampled_from(sorted(PACKED)), st.binary(max_size=3000), st.integers(1, 64))
def test_what_was_packed_comes_out_in_any_pieces(name: str, data: bytes, size: int):
    packed, unpack = PACKED[name](data), unpacker(name)
    out = b"".join(unpack.feed(packed[n : n + size], 10_000) for n in range(0, len(packed), size))
    assert out == data
    assert unpack.finished


def test_deflate_without_its_frame_is_read_too():
    assert unpacker("deflate").feed(raw_deflate(b"text" * 100), 10_000) == b"text" * 100


def test_several_members_of_gzip_are_one_text():
    assert unpacker("gzip").feed(gzip.compress(b"one ") + gzip.compress(b"two"), 100) == b"one two"


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_a_bomb_gives_no_more_than_there_is_room_for(name: str):
    assert len(unpacker(name).feed(PACKED[name](b"\0" * 50_000_000), 1000)) == 1001


def test_an_answer_that_broke_off_is_not_finished():
    unpack = unpacker("gzip")
    unpack.feed(gzip.compress(b"text" * 1000)[:-9], 100_000)
    assert not unpack.finished


@pytest.mark.parametrize("name", ["br", "zstd", "gzip, gzip", "x"])
def test_a_packing_nobody_asked_for_fails(name: str):
    with pytest.raises(FetchFailedError):
        unpacker(name)


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_what_is_not_packed_as_said_fails(name: str):
    with pytest.raises(FetchFailedError):
        unpacker(name).feed(b"\xff\xffnot packed at all", 1000)
