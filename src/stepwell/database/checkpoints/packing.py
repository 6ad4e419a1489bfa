"""The stored form of a thread's rows: deflated against a text that both sides know.

A turn writes several small rows, and most of each is the same everywhere: names of channels, of fields, of LangGraph's own keys.
Compressing a row on its own gains little, because it does not repeat itself. So zlib begins with a dictionary of what rows usually contain.

Rules to keep:
- `_WORDS` never changes, because rows that were packed with it could not be read any more. A better text gets a new form.
- Rows of other forms, such as those of older versions, are read as they are.
- Large values are packed quickly rather than well, and very large ones not at all: deflating megabytes would keep the event loop waiting.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from typing import Any

import orjson
from langgraph.checkpoint.serde.base import SerializerProtocol

PACKED = "msgpack+z1"
"""The form of a value that is MessagePack inside."""
_PLAIN = "msgpack"
_PACKED_TEXT = "z1 "
"""The first characters of packed metadata. Metadata that is not packed is a JSON object and begins with a brace."""
_MIN_SIZE, _LARGE, _MAX_SIZE = 32, 64 * 1024, 256 * 1024
_WINDOW, _MEMORY = -13, 5  # raw deflate that looks 8 kB back; zlib's defaults would spend most time on clearing memory
_WORDS = (
    b'"thread_id":"","checkpoint_ns":"","notify_parent":"writes":null,"langgraph_node":"model","langgraph_step":"exit"'
    b'{"source":"fork","step":-1,"parents":{"":""}},{"source":"update","step":{"source":"input","step":{"source":"loop","step":1,"parents":{}'
    b',"counters_since_delta_snapshot":{"messages":[1,1],"files":[0,1],"summary":[0,1]},"ls_integration":"langchain_create_agent"'
    b',"graph_id":"agent","assistant_id":"","run_id":"","run_attempt":1,"user_id":"operator","langgraph_auth_user_id":"operator"}'
    b"\xaflanggraph.types\xa9Interrupt\x83\xa5value\x82\xafaction_requests\x91\x83\xa4name\xa4args\xabdescription\xd9 "
    b"Tool execution requires approval\n\nTool: \nArgs: {'\xaereview_configs\x91\x82\xabaction_name\xb1allowed_decisions\x94\xa7approve"
    b"\xa4edit\xa6reject\xa7respond\xafresponse_schema\xaaproperties\xa9decisions\xa5items\xa8required\xa5todos\x91\x82\xa7content\xa6status\xa7pending\xabin_progress"
    b"\xa9completed\xacactive_agent\xacstructured_response\xa9file_path\xaaold_string\xaanew_string\xa7pattern\xa5query\xa3url\xa7command"
    b"\xaaread_file\xaawrite_file\xa9edit_file\xabwrite_todos\xa4task\xb2description\xadsubagent_type\xafgeneral-purpose"
    b"\x84\xa6change\xa3put\xa7content\x92\xa0\xa4base\xc0\xa2at\xd9 created_at\xabmodified_at"
    b"\x91\xc7\x94\x05\x94\xbflangchain_core.messages.system\xadSystemMessage\x86\xa6system"
    b"\x91\xc7\x94\x05\x94\xbdlangchain_core.messages.human\xacHumanMessage\x86\xa7content\xb1additional_kwargs\x80\xb1response_metadata\x80"
    b"\xa4type\xa5human\xa4name\xc0\xa2id\xd9$\xb3model_validate_json"
    b"\xa4type\xa4text\xa4text\xa5index\x00\xa9reasoning\xa9signature\xa9image_url\xa6base64\xa9mime_type\xb1model_provider\xaamodel_name"
    b"\xaafinish_reason\xa4stop\xabstop_reason\xa8end_turn\xa8tool_use\xb2system_fingerprint\xacservice_tier\xa8logprobs"
    b"\xaeusage_metadata\x85\xacinput_tokens\xcd\xadoutput_tokens\xcc\xactotal_tokens\xcd\xb3input_token_details\x82\xaecache_creation\x00"
    b"\xaacache_read\x00\xb4output_token_details\x81\xa9reasoning\x00"
    b"\xaflanggraph.types\xa4Send\x92\xa5tools\x91\x84\xa4name\xa4args\x81\xa2id\xd9\x1dtoolu_01\xbdcall_\xa4type\xa9tool_call"
    b"\x91\xc8\x01\xa6\x05\x94\xbclangchain_core.messages.tool\xabToolMessage\x89\xa7content\xd9\xb1additional_kwargs\x80\xb1response_metadata\x80"
    b"\xa4type\xa4tool\xa4name\xa2id\xd9$\xactool_call_id\xa8artifact\xc0\xa6status\xa5error\xa6status\xa7success\xb3model_validate_json"
    b"\x91\xc8\x01\x0f\x05\x94\xbalangchain_core.messages.ai\xa9AIMessage\x89\xa7content\xa0\xb1additional_kwargs\x80\xb1response_metadata\x80"
    b"\xa4type\xa2ai\xa4name\xc0\xa2id\xd9.lc_run--01\xaatool_calls\x91\x84\xa4name\xa4args\x81\xaatool_calls\x90\xb2invalid_tool_calls\x90"
    b"\xaeusage_metadata\xc0\xb3model_validate_json"
    b"\x87\xa1v\x04\xa2ts\xd9 2026-01-01T00:00:00.000000+00:00\xa2id\xd9$1f\xaechannel_values\x82\xa9__start__\x81\xa8messages"
    b"\xae__pregel_tasks\x90\xafbranch:to:model\xc0\xafbranch:to:tools\xc0\xb0channel_versions\x84\xa9__start__\x02\xa8messages\xcd\xafbranch:to:model\xcd"
    b"\xae__pregel_tasks\xcd\xa5todos\xa5files\xa7summary\xadversions_seen\x84\xa9__input__\x80\xa9__start__\x81\xa9__start__\x01\xa5model\x81"
    b"\xafbranch:to:model\xcd\xa5tools\x80\xb0updated_channels\x91\xae__pregel_tasks\x92\xafbranch:to:model\xa8messages"
)
_PACKER, _QUICK_PACKER = (zlib.compressobj(level, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=_WORDS) for level in (6, 1))
"""Only ever copied: a copy costs half of what reading the dictionary again does."""


def pack(value: tuple[str, bytes]) -> tuple[str, bytes]:
    """A serialised value as it is stored: packed, if that makes it smaller."""
    form, data = value
    if form != _PLAIN or not _MIN_SIZE <= len(data) <= _MAX_SIZE:
        return value
    packed = _deflate(data)
    return (PACKED, packed) if len(packed) < len(data) else value


def unpack(stored: tuple[str, bytes]) -> tuple[str, bytes]:
    """A stored value as the serializer made it."""
    form, data = stored
    return (_PLAIN, _inflate(data)) if form == PACKED else stored


class PackedSerializer(SerializerProtocol):
    """Packs what another serializer makes."""

    def __init__(self, inner: SerializerProtocol) -> None:
        self._inner = inner

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return pack(self._inner.dumps_typed(obj))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return self._inner.loads_typed(unpack(data))


def pack_metadata(plain: bytes) -> str:
    """A checkpoint's metadata, given as JSON, as it is stored. Text, because the column is text in Postgres."""
    packed = b64encode(_deflate(plain)) if len(plain) <= _MAX_SIZE else plain
    return f"{_PACKED_TEXT}{packed.decode()}" if len(packed) < len(plain) else plain.decode()


def unpack_metadata(stored: str) -> dict[str, Any]:
    plain = _inflate(b64decode(stored[len(_PACKED_TEXT) :])) if stored.startswith(_PACKED_TEXT) else stored or "{}"
    metadata: dict[str, Any] = orjson.loads(plain)
    return metadata


def _deflate(data: bytes) -> bytes:
    packer = (_PACKER if len(data) <= _LARGE else _QUICK_PACKER).copy()
    return packer.compress(data) + packer.flush()


def _inflate(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj(_WINDOW, zdict=_WORDS)
    return unpacker.decompress(packed) + unpacker.flush()
