/**
 * The page's side of the workers: sends each one order at a time and waits for its end. An order with a time limit that is not done by then is
 * ended with the worker, and the next one gets a fresh worker. Orders that change something have no limit, so that none is cut off.
 */

import type { OutboxRow } from "./database";
import type { Commission } from "./execution";
import { FileError } from "./errors";
import type { Call, Result } from "./calls";
import { failure } from "./operations";
import type { Preview } from "./preview";
import type { Embedder } from "./search";
import type { FromWorker, Order, Sent, ToWorker } from "./worker";

/** Shorter than other reads: a pattern that would take for ever must be ended. Long enough for a large project on a slow phone. */
const GREP_MS = 10_000;
const READ_MS = 20_000;
const SEARCH_MS = 60_000;
const STARTING_MS = 20_000;

export class WorkerHost {
  // A search that embeds texts takes its time; neither a read nor the person who decides about a change waits for it.
  private readonly reading: Lane;
  private readonly searching: Lane;
  private readonly changing: Lane;

  constructor(
    device: string,
    /** Null: search goes by words. */
    private readonly findEmbedder: () => Promise<Embedder | null>,
  ) {
    [this.reading, this.searching, this.changing] = [new Lane(device), new Lane(device), new Lane(device)];
  }

  /** A call that only reads. Never rejects: what fails is an answer too. */
  async read(project: string, call: Call): Promise<Result> {
    try {
      if (call.name === "search_files") return await this.search(project, call);
      return await this.reading.run<Result>(
        project,
        { kind: "read", call, embedder: null },
        call.name === "grep_files" ? GREP_MS : READ_MS,
      );
    } catch (error) {
      return failure(call, error);
    }
  }

  private async search(project: string, call: Call): Promise<Result> {
    const embedder = await this.findEmbedder().catch(() => null);
    return this.searching.run<Result>(
      project,
      { kind: "read", call, embedder: embedder?.id ?? null },
      SEARCH_MS,
      embedder,
    );
  }

  preview(project: string, calls: readonly Call[]): Promise<Preview[]> {
    return this.changing.run(project, { kind: "preview", calls });
  }

  carryOut(project: string, commission: Commission): Promise<OutboxRow> {
    return this.changing.run(project, { kind: "carry out", commission });
  }

  close(): void {
    for (const lane of [this.reading, this.searching, this.changing]) lane.close();
  }
}

/** One worker, started when it is needed. */
class Lane {
  private worker: Promise<Worker> | null = null;
  private turn: Promise<unknown> = Promise.resolve();
  private number = 0;

  constructor(private readonly device: string) {}

  /** After the orders before it. */
  run<T>(project: string, order: Order, limitMs?: number, embedder: Embedder | null = null): Promise<T> {
    const done = this.turn.then(() => this.runNow<T>(project, order, limitMs, embedder));
    this.turn = done.catch(() => undefined);
    return done;
  }

  /** After the order that is under way. */
  close(): void {
    void this.turn.then(async () => (await this.worker)?.terminate()).catch(() => undefined);
  }

  private async runNow<T>(
    project: string,
    order: Order,
    limitMs: number | undefined,
    embedder: Embedder | null,
  ): Promise<T> {
    this.worker ??= startWorker();
    const worker = await this.worker.catch((error: unknown) => {
      this.worker = null;
      throw error;
    });
    const sent: Sent = { number: this.number++, device: this.device, project, order };
    return new Promise<T>((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        settle();
      };
      const replace = (error: Error) => {
        worker.terminate();
        this.worker = null;
        end(() => reject(error));
      };
      const late = () => replace(new FileError("timeout", `It was not done within ${limitMs! / 1_000} seconds.`));
      const timer = limitMs === undefined ? undefined : setTimeout(late, limitMs);
      worker.onerror = () => replace(new Error("The part of the page that works with files has failed. Try again."));
      worker.onmessage = (event: MessageEvent<FromWorker>) => {
        const message = event.data;
        if (message.kind === "embed") return void embedFor(worker, message, embedder);
        if (message.kind === "ready" || message.number !== sent.number) return;
        end(() => (message.kind === "done" ? resolve(message.value as T) : reject(new Error(message.message))));
      };
      worker.postMessage(sent satisfies ToWorker);
    });
  }
}

function startWorker(): Promise<Worker> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "files" });
    const failed = () => reject(new Error("The part of the page that works with files did not load. Reload the page."));
    const timer = setTimeout(failed, STARTING_MS);
    worker.onerror = failed;
    worker.onmessage = () => {
      clearTimeout(timer);
      resolve(worker);
    };
  });
}

async function embedFor(
  worker: Worker,
  wanted: { number: number; texts: string[] },
  embedder: Embedder | null,
): Promise<void> {
  try {
    if (!embedder) throw new Error("There is no model here that embeds texts.");
    worker.postMessage({ number: wanted.number, embedded: await embedder.embed(wanted.texts) } satisfies ToWorker);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    worker.postMessage({ number: wanted.number, embedded: null, message } satisfies ToWorker);
  }
}
