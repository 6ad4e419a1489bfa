"""MCP servers that research may ask like search engines: a `Web` that answers `mcp://<server>/<tool>?query=...` and passes on the rest.

As a `Web`, a call is recorded, counted, replayed and listed in the receipt like every other request, and what came back is evidence like a
page. The answer is foreign text: it is cut at the request's limit here and normalised by its reader.

Rule to keep: only code that asks a configured source makes such a request. Fetchers refuse every address but http(s), so neither a page
nor a model can send anything this way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from langchain_core.tools import BaseTool, ToolException

from stepwell.errors import ConfigurationError, FetchFailedError, FetchRefusedError
from stepwell.tools.effects import effect_of
from stepwell.tools.mcp import mcp_session
from stepwell.tools.mcp_calls import McpTool, safe_name
from stepwell.tools.mcp_servers import connection_of
from stepwell.tools.web.transport import Web, WebRequest, WebResponse
from stepwell.variables import is_loopback

MAX_BYTES = 256 * 1024
TIMEOUT_S = 60.0
_SERVER_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""A host name of one part: it is the host of the address, and a policy may name it among its domains."""
_QUERY_NAMES = ("query", "q", "search", "search_query", "question", "text", "term", "keywords")


@dataclass(frozen=True)
class McpSource:
    """A tool of an MCP server, which takes a query and answers with text."""

    server: str
    tool: str
    host: str = ""
    """Where the server runs, if that is another machine."""
    description: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    """How to start or reach the server. It may contain tokens."""

    @property
    def name(self) -> str:
        """What the trail calls it, beside the names of search engines."""
        return f"mcp:{self.server}"

    def address(self, query: str) -> str:
        return f"mcp://{self.server}/{self.tool}?{urlencode({'query': query})}"


def read_sources(named: str | None, file: Path | None) -> tuple[McpSource, ...]:
    """The sources that `STEPWELL_RESEARCH_MCP` names (`server:tool,...`), from the servers in the file of `STEPWELL_MCP_SERVERS`."""
    pairs = [part.strip() for part in (named or "").split(",") if part.strip()]
    if not pairs:
        return ()
    servers = _read_servers(file)
    return tuple(_source(pair, servers) for pair in dict.fromkeys(pairs))


def _read_servers(file: Path | None) -> Mapping[str, Any]:
    if file is None:
        raise ConfigurationError(
            "STEPWELL_RESEARCH_MCP names MCP servers. Set STEPWELL_MCP_SERVERS to the JSON file that describes them."
        )
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        servers = data.get("mcpServers", data)
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigurationError(
            f"The file of STEPWELL_MCP_SERVERS cannot be used ({type(error).__name__}). Write JSON such as "
            '{"mcpServers": {"library": {"command": "library-server"}}}.'
        ) from error
    return servers if isinstance(servers, dict) else {}


def _source(pair: str, servers: Mapping[str, Any]) -> McpSource:
    server, _, tool = pair.partition(":")
    if not _SERVER_NAME.fullmatch(server) or not re.fullmatch(r"[\w.-]{1,128}", tool):
        raise ConfigurationError(
            f"STEPWELL_RESEARCH_MCP holds '{pair}'. Write server:tool, with small letters, digits and dashes in the server's name."
        )
    if server not in servers:
        raise ConfigurationError(
            f"STEPWELL_RESEARCH_MCP names '{server}', which the file of STEPWELL_MCP_SERVERS does not describe."
        )
    connection = connection_of(server, servers[server])
    host = urlsplit(str(connection.get("url", ""))).hostname or ""
    return McpSource(server, tool, "" if is_loopback(host) else host, servers[server])


class McpWeb:
    """Asks MCP servers for addresses that begin with `mcp://`, and `web` for all others."""

    def __init__(self, web: Web, sources: Sequence[McpSource], check: Callable[[str, str], Sequence[object]]) -> None:
        """`check` returns the rules that forbid asking a server, by its name and its host."""
        self._web = web
        self._check = check
        self._sources = {(source.server, source.tool): source for source in sources}

    async def send(self, request: WebRequest) -> WebResponse:
        parts = urlsplit(request.url)
        if parts.scheme != "mcp":
            return await self._web.send(request)
        source = self._sources.get((parts.hostname or "", parts.path.removeprefix("/")))
        if source is None:
            raise FetchRefusedError(f"No MCP source '{parts.hostname}{parts.path}' is configured.", "address")
        if broken := self._check(source.server, source.host):
            raise FetchRefusedError(f"The policy forbids it ({broken[0]}).", "policy")
        text = await _ask(source, parse_qs(parts.query)["query"][0], request.timeout_s)
        content = text.encode("utf-8", "replace")
        kept = content[: request.max_bytes].decode("utf-8", "ignore").encode()
        return WebResponse(200, (("content-type", "text/plain; charset=utf-8"),), kept, len(content), len(kept) == len(content))


async def _ask(source: McpSource, query: str, timeout_s: float) -> str:
    try:
        async with mcp_session(
            {source.server: source.description}, start_timeout_s=timeout_s, call_timeout_s=timeout_s
        ) as tools:
            tool = _find_tool(source, tools)
            content, _ = await tool.call(**{_find_argument(source, tool): query})
    except (ToolException, ConfigurationError) as error:
        raise FetchFailedError(str(error), "network") from error
    return _text_of(content)


def _find_tool(source: McpSource, tools: Sequence[BaseTool]) -> McpTool:
    tool = next((each for each in tools if each.name == safe_name(source.tool)), None)
    if not isinstance(tool, McpTool):
        raise FetchFailedError(f"The MCP server '{source.server}' has no tool '{source.tool}'.", "content")
    if effect_of(tool) == "once":
        raise FetchRefusedError(
            f"The tool '{source.tool}' of the MCP server '{source.server}' says that it changes something; a source only answers.",
            "effect",
        )
    return tool


def _find_argument(source: McpSource, tool: McpTool) -> str:
    """The argument that takes the query: one with a usual name, else the only required text."""
    schema = tool.args_schema if isinstance(tool.args_schema, dict) else {}
    arguments = {name: about for name, about in schema.get("properties", {}).items() if about.get("type") == "string"}
    required = [name for name in schema.get("required", []) if name in arguments]
    found = next((name for name in _QUERY_NAMES if name in arguments), required[0] if len(required) == 1 else None)
    if found is None:
        raise FetchFailedError(
            f"The tool '{source.tool}' of the MCP server '{source.server}' has no argument for a query.", "content"
        )
    return found


def _text_of(content: Any) -> str:
    """The text of an answer; pictures and other blocks are left out."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n\n".join(
        str(block.get("text", "")) for block in blocks if isinstance(block, Mapping) and block.get("type") == "text"
    )
