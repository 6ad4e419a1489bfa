"""Writes `tests/fixtures/minilm_vectors.json`: texts, their tokens and their vectors, by plain onnxruntime.

The fixture holds Python and the browser to the same numbers. It is computed without Stepwell's embedder, one text at a time, so
that the embedder is tested against something else than itself. Run it only when the weights or the tokenizer change; a new
fixture means a new `MINILM_ID`:  `.venv/bin/python scripts/minilm_vectors.py`
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from stepwell.models.embedding.minilm import MAX_TOKENS, MINILM_ID
from stepwell.models.embedding.minilm_files import TOKENIZER, WEIGHTS, MiniLMFiles

TARGET = Path(__file__).parents[1] / "tests" / "fixtures" / "minilm_vectors.json"

TEXTS = [
    "",
    " \n\t ",
    "Well",
    "The well is deep, and its steps are worn.",
    "A stairway leads far down to the water.",
    "Our accountant filed the quarterly tax return late.",
    "Invoices for spring are still unpaid.",
    "How do I undo the last commit without losing my changes?",
    "git reset --soft HEAD~1",
    "def area(radius: float) -> float:\n    return 3.14159 * radius ** 2",
    "Café, naïve, Übergröße, smørrebrød, Łódź",
    "Der Brunnen ist tief, und das Wasser ist kalt.",
    "井戸は深く、水は冷たい。",
    "Колодец глубок, а вода холодна.",
    "البئر عميقة والماء بارد",
    "Bucket 🪣 meets well 👩🏽‍🌾, e\u0301 and é, ﬁne ＡＢＣ, zero\u200bwidth, half \ufffd",
    "PRICE: 1,299.50 EUR (incl. 19% VAT) -- call +49 30 1234567!!!",
    "x" * 120 + " is one word too long to be known",
    "[SEP] and [MASK] may be written by anybody.",
    # Longer than 256 tokens: what counts is where it is cut, and that [SEP] is kept.
    " ".join(f"Landing {n} of the stepwell holds {n * 7} jars of water, and {n % 5} people rest there." for n in range(1, 30)),
    " ".join(f"Erdgeschosswohnung{n}" for n in range(1, 70)),
]


def main() -> None:
    files = MiniLMFiles()
    tokenizer = Tokenizer.from_file(str(files.path_of(TOKENIZER)))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    session = onnxruntime.InferenceSession(str(files.path_of(WEIGHTS)), providers=["CPUExecutionProvider"])
    entries = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        row = np.array([ids], dtype=np.int64)
        feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        mean = session.run(None, feed)[0][0].astype(np.float64).mean(axis=0)
        vector = mean / np.linalg.norm(mean)
        entries.append({"text": text, "token_ids": ids, "vector": [round(float(value), 7) for value in vector]})
    lines = ",\n".join(json.dumps(entry, ensure_ascii=True, separators=(",", ":")) for entry in entries)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(f'{{"embedder_id":"{MINILM_ID}","max_tokens":{MAX_TOKENS},"entries":[\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
