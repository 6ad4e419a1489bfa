// Texts as vectors, by meaning, on this device: MiniLM in a worker, with the server's own files. The same numbers as Python's embedder, so
// they have its id; vectors of different ids are never compared.
//
//   embedder()  asks once whether the server has the files  -> null: it has none, and whoever asks compares by words and says so
//   embed()     starts the worker, which loads 14 MB of WebAssembly and 23 MB of weights, once; after a quiet while it is let go
//
// No text leaves the device for this.

import { request, type Schemas } from "../api";

export interface Embedder {
  /** Stored with every vector. */
  readonly id: string;
  /** One vector of length 1 for each text, in their order. `onProgress` is told how many of them are done. */
  embed(texts: readonly string[], signal?: AbortSignal, onProgress?: (done: number) => void): Promise<Float32Array[]>;
}

type Described = Schemas["EmbedderResponse"];
export type EmbedderFiles = NonNullable<Described["embedder"]>;
export type ToWorker =
  | { kind: "load"; files: EmbedderFiles }
  | { kind: "embed"; job: number; texts: readonly string[] }
  | { kind: "cancel"; job: number };
export type FromWorker =
  | { kind: "vectors"; job: number; from: number; vectors: Float32Array[] }
  | { kind: "done"; job: number }
  | { kind: "failed"; job: number | null; message: string };

const LET_GO_AFTER_MS = 5 * 60_000;

let found: Promise<Embedder | null> | null = null;

/** Null: the server has no embedder to lend. A server that did not answer is asked again the next time. */
export function embedder(): Promise<Embedder | null> {
  found ??= request<Described>("/api/embedder").then(
    ({ embedder: files }) => (files ? new WorkerEmbedder(files) : null),
    (error: unknown) => {
      found = null;
      throw error;
    },
  );
  return found;
}

interface Job {
  vectors: Float32Array[];
  left: number;
  total: number;
  onProgress?: (done: number) => void;
  resolve: (vectors: Float32Array[]) => void;
  reject: (error: unknown) => void;
}

class WorkerEmbedder implements Embedder {
  readonly id: string;
  private worker: Worker | null = null;
  private readonly jobs = new Map<number, Job>();
  private last = 0;
  private letGo: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly files: EmbedderFiles) {
    this.id = files.id;
  }

  embed(texts: readonly string[], signal?: AbortSignal, onProgress?: (done: number) => void): Promise<Float32Array[]> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!texts.length) return Promise.resolve([]);
    const job = ++this.last;
    return new Promise<Float32Array[]>((resolve, reject) => {
      this.jobs.set(job, { vectors: [], left: texts.length, total: texts.length, onProgress, resolve, reject });
      signal?.addEventListener("abort", () => this.cancel(job, signal.reason), { once: true });
      this.tell({ kind: "embed", job, texts });
    });
  }

  private cancel(id: number, reason: unknown): void {
    const job = this.jobs.get(id);
    if (!job) return;
    this.tell({ kind: "cancel", job: id });
    this.settle(id)?.reject(reason);
  }

  private tell(message: ToWorker): void {
    clearTimeout(this.letGo);
    if (!this.worker) {
      this.worker = new Worker(new URL("./minilm.worker.ts", import.meta.url), { type: "module", name: "embedder" });
      this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.heard(data);
      this.worker.onerror = () =>
        this.fail("The embedder could not be started. Load the page again; until then texts are compared by words.");
      this.worker.postMessage({ kind: "load", files: this.files } satisfies ToWorker);
    }
    this.worker.postMessage(message);
  }

  private heard(message: FromWorker): void {
    if (message.kind === "failed" && message.job === null) return this.fail(message.message);
    const job = this.jobs.get(message.job!);
    if (!job) return;
    if (message.kind === "vectors") {
      message.vectors.forEach((vector, place) => (job.vectors[message.from + place] = vector));
      job.left -= message.vectors.length;
      job.onProgress?.(job.total - job.left);
    } else if (message.kind === "done") this.settle(message.job)?.resolve(job.vectors);
    else this.settle(message.job!)?.reject(new Error(message.message));
  }

  private settle(id: number): Job | undefined {
    const job = this.jobs.get(id);
    this.jobs.delete(id);
    if (!this.jobs.size) this.letGo = setTimeout(() => this.end(), LET_GO_AFTER_MS);
    return job;
  }

  /** Everything that waits fails, and the next call begins with a new worker. */
  private fail(message: string): void {
    const waiting = [...this.jobs.values()];
    this.jobs.clear();
    this.end();
    for (const job of waiting) job.reject(new Error(message));
  }

  private end(): void {
    clearTimeout(this.letGo);
    this.worker?.terminate();
    this.worker = null;
  }
}
