"""MiniLM beside plain onnxruntime: the same numbers, whatever the batch, the thread or the length of the text."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from stepwell.errors import MissingExtraError, ModelChecksumError
from stepwell.models.embedding.embedder import Embedder, choose_embedder
from stepwell.models.embedding.minilm import MINILM_ID, MiniLMEmbedder
from stepwell.models.embedding.minilm_files import TOKENIZER, WEIGHTS, MiniLMFiles
from stepwell.models.local.catalogue import LocalModel
from stepwell.settings import Settings

SEP = 102
FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures" / "minilm_vectors.json").read_text(encoding="utf-8"))
TEXTS: list[str] = [entry["text"] for entry in FIXTURE["entries"]]


class Plain:
    """The model by hand: one text at a time, nothing of ours but the places of the files."""

    def __init__(self) -> None:
        files = MiniLMFiles()
        self._tokenizer = Tokenizer.from_file(str(files.path_of(TOKENIZER)))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._session = onnxruntime.InferenceSession(str(files.path_of(WEIGHTS)), providers=["CPUExecutionProvider"])

    def tokens(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids

    def cut(self, text: str) -> list[int]:
        """At most 256 tokens, the last of them [SEP]."""
        ids = self.tokens(text)
        return ids if len(ids) <= 256 else [*ids[:255], SEP]

    def vector(self, ids: Sequence[int]) -> np.ndarray:
        row = np.array([ids], dtype=np.int64)
        feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        mean = self._session.run(None, feed)[0][0].mean(axis=0)
        return mean / np.linalg.norm(mean)


@pytest.fixture(scope="module")
def plain() -> Plain:
    return Plain()


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    chosen = choose_embedder(Settings())
    assert chosen.is_semantic, chosen.describe()
    return chosen


def apart(first: object, second: object) -> float:
    """The largest difference in any place."""
    return float(np.abs(np.asarray(first) - np.asarray(second)).max())


def likeness(embedder: Embedder, first: str, second: str) -> float:
    return float(np.dot(*embedder.embed([first, second])))


def test_vectors_agree_with_onnxruntime_run_directly(embedder: Embedder, plain: Plain):
    assert apart(embedder.embed(TEXTS), [plain.vector(plain.cut(text)) for text in TEXTS]) < 1e-5


def test_vectors_agree_with_the_stored_ones(embedder: Embedder):
    """The same file holds the browser to these numbers."""
    assert (FIXTURE["embedder_id"], FIXTURE["max_tokens"]) == (embedder.id, 256) == (MINILM_ID, 256)
    assert apart(embedder.embed(TEXTS), [entry["vector"] for entry in FIXTURE["entries"]]) < 1e-5


def test_stored_tokens_are_those_of_the_tokenizer(plain: Plain):
    assert [entry["token_ids"] for entry in FIXTURE["entries"]] == [plain.cut(text) for text in TEXTS]


def test_a_vector_does_not_depend_on_its_batch(embedder: Embedder):
    """Measured: 9e-8. Only the weights are int8, so padding and neighbours change no more than the rounding."""
    alone = [embedder.embed([text])[0] for text in TEXTS]
    assert apart(embedder.embed(TEXTS), alone) < 1e-6
    assert apart(embedder.embed(TEXTS[::-1]), alone[::-1]) < 1e-6


def test_vectors_have_length_one_also_for_an_empty_text(embedder: Embedder):
    vectors = embedder.embed(["", "well"])
    assert [len(vector) for vector in vectors] == [384, 384]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    assert embedder.embed([]) == []


def test_truncation_keeps_the_last_token(embedder: Embedder, plain: Plain):
    text = next(text for text in TEXTS if len(plain.tokens(text)) > 256)
    vector = embedder.embed([text])[0]
    assert apart(vector, plain.vector(plain.cut(text))) < 1e-5
    assert apart(vector, plain.vector(plain.tokens(text)[:256])) > 1e-4  # the same without [SEP] is another vector


@pytest.mark.parametrize(
    "text",
    [
        "river stone bridge " * 6_000,
        "井戸は深く水は冷たい" * 6_000,
        "aGVsbG8gd29ybGQ+/" * 6_000,
        " " * 50_000 + "the well is deep " * 300,
        "\n".join("unbreakable" * 12 for _ in range(600)),
        "w" * 100_000,
        # The embedder looks at the first 8,192 characters first; here they end inside the word that gives the last token.
        " " * (8_190 - 2 * 253) + "a " * 253 + "incomprehensibilities " * 50,
    ],
    ids=["words", "no spaces", "base64", "blanks first", "unknown words", "one word", "a word cut in two"],
)
def test_a_long_text_is_read_as_if_it_were_tokenized_whole(embedder: Embedder, plain: Plain, text: str):
    assert apart(embedder.embed([text])[0], plain.vector(plain.cut(text))) < 1e-5


def test_half_a_character_counts_for_nothing(embedder: Embedder):
    assert apart(*embedder.embed(["deep \ud800well", "deep well"])) < 1e-6


def test_like_meaning_is_nearer_than_like_words(embedder: Embedder):
    question = "Where can I get something to drink?"
    assert likeness(embedder, question, "A café around the corner serves coffee and juice.") > likeness(
        embedder, question, "Where can I get my car repaired?"
    )
    assert likeness(embedder, "automobile", "car") > 0.7  # the fallback's test says the opposite


def counting() -> tuple[list[str], Callable[[LocalModel], Path]]:
    asked: list[str] = []

    def path_of(wanted: LocalModel) -> Path:
        asked.append(wanted.file)
        return MiniLMFiles().path_of(wanted)

    return asked, path_of


def test_two_threads_load_once_and_get_whole_answers(embedder: Embedder):
    asked, path_of = counting()
    shared = MiniLMEmbedder(path_of)
    short = [text for text in TEXTS if len(text) < 200]
    with ThreadPoolExecutor(2) as pool:
        forward, backward = pool.map(shared.embed, [short, short[::-1]])
    expected = embedder.embed(short)
    assert apart(forward, expected) < 1e-6
    assert apart(backward, expected[::-1]) < 1e-6
    assert asked == [TOKENIZER.file, WEIGHTS.file]


async def test_the_event_loop_stays_free_while_files_load(embedder: Embedder):
    loop_ran = threading.Event()

    def path_of(wanted: LocalModel) -> Path:
        assert loop_ran.wait(60), "the event loop was held up by loading"
        return MiniLMFiles().path_of(wanted)

    work = asyncio.create_task(MiniLMEmbedder(path_of).aembed(["well"]))
    asyncio.get_running_loop().call_later(0.05, loop_ran.set)
    assert apart(await work, embedder.embed(["well"])) < 1e-6


async def test_cancelling_leaves_most_of_the_work_undone(embedder: Embedder):
    used = time.process_time()
    work = asyncio.create_task(embedder.aembed(TEXTS * 500))
    while time.process_time() - used < 0.1:  # noqa: ASYNC110 - nobody tells that it has begun
        await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert len(await embedder.aembed(["still usable"])) == 1


MEMORY = """
import os, sys
import numpy, onnxruntime, tokenizers
from pathlib import Path
from stepwell.models.embedding.embedder import choose_embedder
from stepwell.settings import Settings

def peak_mb():
    # Not ru_maxrss: a child inherits that from its parent.
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) // 1024

threads_before = len(os.listdir("/proc/self/task"))
embedder = choose_embedder(Settings(local_threads="2"))
long = ["landing of the stepwell " * 100] * 16
texts = [f"landing {n}" for n in range(1000 - len(long))] + long
embedder.embed(texts[-32:])
first = peak_mb()
assert len(embedder.embed(texts)) == 1000
print(first, peak_mb(), len(os.listdir("/proc/self/task")) - threads_before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads its own memory and threads from /proc")
def test_a_thousand_texts_take_bounded_memory_and_threads(record_property: Callable[[str, object], None]):
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, timeout=280)
    first, peak, threads = map(int, run.stdout.split())
    record_property("peak_mb", peak)
    assert peak - first < 40  # the vectors themselves are 12 MB
    assert peak < 500
    assert threads < 2  # the caller's thread computes too


def test_damaged_weights_are_refused_and_good_ones_load_after(tmp_path: Path, embedder: Embedder):
    damaged = tmp_path / "weights"
    content = bytearray(MiniLMFiles().path_of(WEIGHTS).read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    places = {WEIGHTS.file: damaged}
    mended = MiniLMEmbedder(lambda wanted: places.get(wanted.file) or MiniLMFiles().path_of(wanted))
    with pytest.raises(ModelChecksumError, match="damaged or another version"):
        mended.embed(["well"])
    places.clear()
    assert apart(mended.embed(["well"]), embedder.embed(["well"])) < 1e-6


def test_missing_extra_is_named_at_first_use(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"stepwell\[local\]"):
        MiniLMEmbedder(MiniLMFiles().path_of).embed(["well"])


def test_one_text_is_refused_where_a_list_is_meant(embedder: Embedder):
    with pytest.raises(TypeError, match=r"embed\(\[text\]\)"):
        embedder.embed("well")
