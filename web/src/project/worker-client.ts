// The page's side of worker.ts: an order as a promise, with progress and a way to cancel it. The worker starts with the first order.

import { openDevice } from "../device/database";
import type { Hits } from "./searching";
import type { ImportProgress, ImportResult } from "./importing";
import type { Exported } from "./packing";
import type { Measured } from "./stores";
import type { Kind, Message, Orders, Reply } from "./worker";

interface Results {
  import: ImportResult;
  export: Exported;
  search: Hits;
  sweep: number;
  measure: Measured[];
  exportDevice: Blob;
}
interface Progress {
  import: ImportProgress;
  export: { done: number; total: number };
  exportDevice: { done: number; total: number };
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  tell?: (progress: never) => void;
}

/** Cancelled by the person: nothing to tell them. */
export class CancelledError extends Error {
  override name = "CancelledError";
}

const waiting = new Map<number, Waiting>();
let worker: Worker | null = null;
let last = 0;

interface Watching<K extends Kind> {
  readonly signal?: AbortSignal;
  /** Of another account; otherwise of whoever is signed in. */
  readonly database?: string;
  readonly tell?: K extends keyof Progress ? (progress: Progress[K]) => void : never;
}

export async function order<K extends Kind>(
  kind: K,
  what: Orders[K],
  { signal, tell, database: named }: Watching<K> = {},
): Promise<Results[K]> {
  const database = named ?? (await openDevice()).name;
  const number = ++last;
  const post = (message: Message) => (worker ??= start()).postMessage(message);
  signal?.addEventListener("abort", () => post({ kind: "cancel", number }), { once: true });
  return new Promise<Results[K]>((resolve, reject) => {
    waiting.set(number, { resolve: resolve as (result: unknown) => void, reject, tell: tell as Waiting["tell"] });
    post({ kind, number, database, ...what } as unknown as Message);
  });
}

function start(): Worker {
  const started = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "project" });
  started.onmessage = ({ data }: MessageEvent<Reply>) => hear(data);
  started.onerror = (event) => {
    worker = null;
    const error = new Error(
      "This part of the page stopped working. Nothing of your files is lost; load the page again.",
      { cause: event.message },
    );
    for (const each of waiting.values()) each.reject(error);
    waiting.clear();
  };
  return started;
}

function hear(reply: Reply): void {
  const order = waiting.get(reply.number);
  if (!order) return;
  if ("progress" in reply) return order.tell?.(reply.progress as never);
  waiting.delete(reply.number);
  if ("result" in reply) return order.resolve(reply.result);
  const { name, message } = reply.error;
  order.reject(name === "AbortError" ? new CancelledError(message) : Object.assign(new Error(message), { name }));
}

/** Ends it, with its connection to the database. The next order starts another. */
export function closeWorker(): void {
  worker?.terminate();
  worker = null;
  for (const each of waiting.values()) each.reject(new CancelledError("Stopped."));
  waiting.clear();
}
