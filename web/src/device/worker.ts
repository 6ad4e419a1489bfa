/**
 * The worker that reads, searches and changes a project's files, so that the page stays free. One order at a time; `host.ts` sends them.
 *
 * A model that embeds texts lives in a worker of its own, which only the page can reach: `embed` asks the page for vectors.
 */

import { openDevice } from "./database";
import { carryOut, type Commission } from "./execution";
import { ProjectFiles } from "./files";
import type { Call } from "./calls";
import { failure, read } from "./operations";
import { preview } from "./preview";
import type { Embedder } from "./search";

export type Order =
  | { readonly kind: "read"; readonly call: Call; readonly embedder: string | null }
  | { readonly kind: "preview"; readonly calls: readonly Call[] }
  | { readonly kind: "carry out"; readonly commission: Commission };

export interface Sent {
  readonly number: number;
  readonly device: string;
  readonly project: string;
  readonly order: Order;
}

export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly number: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly number: number; readonly message: string }
  | { readonly kind: "embed"; readonly number: number; readonly texts: string[] };

export type ToWorker =
  Sent | { readonly embedded: Float32Array[] | null; readonly number: number; readonly message?: string };

const tell = (message: FromWorker) => self.postMessage(message);
const embedding = new Map<number, { resolve: (vectors: Float32Array[]) => void; reject: (error: Error) => void }>();
let asked = 0;

self.onmessage = (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  if ("embedded" in message) return takeVectors(message);
  obey(message).then(
    (value) => tell({ kind: "done", number: message.number, value }),
    (error: unknown) =>
      tell({ kind: "failed", number: message.number, message: error instanceof Error ? error.message : String(error) }),
  );
};
tell({ kind: "ready" });

async function obey({ device, project, order }: Sent): Promise<unknown> {
  const files = new ProjectFiles(await openDevice(device), project);
  switch (order.kind) {
    case "read":
      try {
        const content = await read(
          { files, embedder: order.embedder ? embedderCalled(order.embedder) : null },
          order.call,
        );
        return { tool_call_id: order.call.id, content };
      } catch (error) {
        return failure(order.call, error);
      }
    case "preview":
      return preview(files, order.calls);
    case "carry out":
      return carryOut(files, order.commission);
  }
}

function embedderCalled(id: string): Embedder {
  const embed = (texts: string[]) =>
    new Promise<Float32Array[]>((resolve, reject) => {
      const number = asked++;
      embedding.set(number, { resolve, reject });
      tell({ kind: "embed", number, texts });
    });
  return { id, embed };
}

function takeVectors(message: { embedded: Float32Array[] | null; number: number; message?: string }): void {
  const waiting = embedding.get(message.number);
  embedding.delete(message.number);
  if (message.embedded) waiting?.resolve(message.embedded);
  else waiting?.reject(new Error(message.message ?? "The texts could not be embedded."));
}
