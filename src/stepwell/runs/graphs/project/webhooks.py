"""`webhooks` in langgraph.json: where webhooks may go, and what they carry. It narrows what the operator allows and never widens it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.objects import read_flags, read_object, read_texts, refuse_unknown

_URL = ("require_https", "allowed_domains", "allowed_ports", "max_url_length", "disable_loopback", "disable_private_ips")
_TEMPLATE = re.compile(r"\$\{\{([^{}]{0,200})\}\}")
_VARIABLE = re.compile(r"env\.([A-Za-z_][A-Za-z0-9_]{0,99})")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_DOMAIN = re.compile(r"[^\s/:@?#\[\]]+|\[[0-9A-Fa-f:.]+\]")
_SHORTEST_URL = 10
_OURS = frozenset({"host", "content-type", "content-length", "idempotency-key", "transfer-encoding", "connection"})


@dataclass(frozen=True)
class ProjectWebhooks:
    """What a project asks of webhooks. The default asks nothing."""

    disabled: bool = False
    require_https: bool = False
    domains: tuple[str, ...] = ()
    """Host names, or `*.example.com` for all names below; none means any."""
    ports: tuple[int, ...] = ()
    max_url_length: int | None = None
    no_loopback: bool = False
    no_private: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers of every message. `${{ env.LG_WEBHOOK_X }}` stands for a variable of the environment."""
    fields: frozenset[str] | None = None
    """The fields of the message that are sent; None for all."""

    def allows_host(self, host: str) -> bool:
        return not self.domains or any(_fits(host.lower(), domain) for domain in self.domains)


def read_webhooks(content: Mapping[str, Any], file: str) -> ProjectWebhooks:
    webhooks = read_object(content, "webhooks", file)
    refuse_unknown(webhooks, "webhooks", ("env_prefix", "url", "headers", "allowed_fields"), file)
    url = read_object(webhooks, "url", file, within="webhooks")
    refuse_unknown(url, "webhooks.url", _URL, file)
    flags = read_flags(url, "webhooks.url", ("require_https", "disable_loopback", "disable_private_ips"), file)
    longest, ports = url.get("max_url_length"), url.get("allowed_ports") or []
    if longest is not None and not _is_whole(longest, _SHORTEST_URL, 2**31):
        raise ConfigurationError(
            f"'webhooks.url.max_url_length' in '{file}' must be a number of characters, at least {_SHORTEST_URL}: no address is shorter."
        )
    if not isinstance(ports, list) or not all(_is_whole(port, 1, 65535) for port in ports):
        raise ConfigurationError(f"'webhooks.url.allowed_ports' in '{file}' must be a list of ports from 1 to 65535.")
    fields = webhooks.get("allowed_fields")
    return ProjectWebhooks(
        disabled=bool(read_object(content, "http", file).get("disable_webhooks")),
        require_https=flags["require_https"],
        domains=_read_domains(url, file),
        ports=tuple(ports),
        max_url_length=longest,
        no_loopback=flags["disable_loopback"],
        no_private=flags["disable_private_ips"],
        headers=_read_headers(webhooks, file),
        fields=None if fields is None else frozenset(read_texts(fields, "webhooks.allowed_fields", file)),
    )


def _read_domains(url: Mapping[str, Any], file: str) -> tuple[str, ...]:
    domains = read_texts(url.get("allowed_domains"), "webhooks.url.allowed_domains", file)
    for domain in domains:
        if not _DOMAIN.fullmatch(domain):
            raise ConfigurationError(
                f"'webhooks.url.allowed_domains' in '{file}' names '{domain}', which is not the name of a host. Write it without scheme, "
                "port and path, such as hooks.example.com."
            )
        if "*" in domain.removeprefix("*."):
            raise ConfigurationError(
                f"'webhooks.url.allowed_domains' in '{file}' names '{domain}'. A star may only stand at the beginning: *.example.com"
            )
    return tuple(domain.lower() for domain in domains)


def _read_headers(webhooks: Mapping[str, Any], file: str) -> dict[str, str]:
    headers = read_object(webhooks, "headers", file, within="webhooks")
    prefix = webhooks.get("env_prefix") or "LG_WEBHOOK_"
    if not isinstance(prefix, str):
        raise ConfigurationError(f"'webhooks.env_prefix' in '{file}' must be a text, such as \"LG_WEBHOOK_\".")
    for name, value in headers.items():
        if not isinstance(value, str) or not _HEADER.fullmatch(name) or name.lower() in _OURS or "\n" in value or "\r" in value:
            raise ConfigurationError(f"'webhooks.headers' in '{file}' has an entry that cannot be sent: '{name}'. Remove it.")
        for inside in _TEMPLATE.findall(value):
            variable = _VARIABLE.fullmatch(inside.strip())
            if variable is None or not variable[1].startswith(prefix):
                raise ConfigurationError(
                    f"'webhooks.headers.{name}' in '{file}' may only use variables that begin with '{prefix}', "
                    f"such as ${{{{ env.{prefix}TOKEN }}}}."
                )
    return dict(headers)


def fill_headers(headers: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """The headers with the values of their variables. A missing variable is named, so that no message is sent without its token."""

    def value_of(match: re.Match[str]) -> str:
        variable = match[1].strip().removeprefix("env.")
        if variable not in variables:
            raise ConfigurationError(
                f"'webhooks.headers' needs the variable {variable}, which is not set. Set it, and start again."
            )
        return variables[variable]

    return {name: _TEMPLATE.sub(value_of, value) for name, value in headers.items()}


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _fits(host: str, domain: str) -> bool:
    return host.endswith(domain[1:]) if domain.startswith("*.") else host == domain
