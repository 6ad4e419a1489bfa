// Asks the worker that searches. One for the page, started with the first search.

import { openDevice } from "../device/database";
import type { Hit } from "./retrieval";
import type { Answer, Question } from "./search.worker";

export interface Searched {
  readonly hits: readonly Hit[];
  /** How the question was compared, in words for the person. */
  readonly how: "by words" | "by meaning and by words";
}

let worker: Worker | null = null;
let last = 0;
const waiting = new Map<number, { resolve: (hits: Hit[]) => void; reject: (error: Error) => void }>();

/** The passages that fit best: eight at most, forty if the documents are all there is to answer from (`wide`). */
export async function searchKnowledge(
  text: string,
  { signal, wide = false }: { signal?: AbortSignal; wide?: boolean } = {},
): Promise<Searched> {
  const device = await openDevice();
  const { embedder } = await import("../embedding/embedder");
  const made = await embedder().catch(() => null);
  const vector = made ? ((await made.embed([text], signal))[0] ?? null) : null;
  signal?.throwIfAborted();
  const hits = await ask({ id: ++last, database: device.name, text, vector, embedder: made?.id ?? null, wide });
  return { hits, how: vector ? "by meaning and by words" : "by words" };
}

function ask(question: Question): Promise<Hit[]> {
  if (!worker) {
    worker = new Worker(new URL("./search.worker.ts", import.meta.url), { type: "module", name: "knowledge" });
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      const asked = waiting.get(data.id);
      waiting.delete(data.id);
      if ("hits" in data) asked?.resolve(data.hits);
      else asked?.reject(new Error(data.problem));
    };
    worker.onerror = () => {
      for (const asked of waiting.values())
        asked.reject(new Error("Your knowledge could not be searched. Load the page again."));
      waiting.clear();
      worker?.terminate();
      worker = null;
    };
  }
  return new Promise((resolve, reject) => {
    waiting.set(question.id, { resolve, reject });
    worker!.postMessage(question);
  });
}
