// What takes long is done here, beside the page: imports, exports, searches, counting. One message is one order; it answers with progress
// and a result, or an error's name and sentence. Cancelling an order is a message with its number.

import { announceChange, openDevice } from "../device/database";
import { exportDevice, measureDevice } from "./stores";
import { importFiles, sweepStaging, type ImportOrder } from "./importing";
import { exportProject } from "./packing";
import { searchTexts } from "./searching";

export interface Orders {
  import: { order: ImportOrder };
  export: { projectId: string };
  search: { projectId: string; words: string };
  sweep: Record<never, never>;
  measure: Record<never, never>;
  exportDevice: { more: Record<string, string> };
}
export type Kind = keyof Orders;
export type Order = { [K in Kind]: { kind: K; number: number; database: string } & Orders[K] }[Kind];
export type Message = Order | { kind: "cancel"; number: number };

export type Reply =
  | { number: number; progress: unknown }
  | { number: number; result: unknown }
  | { number: number; error: { name: string; message: string } };

const running = new Map<number, AbortController>();

async function carryOut(order: Order, tell: (progress: unknown) => void, signal: AbortSignal): Promise<unknown> {
  const device = await openDevice(order.database);
  switch (order.kind) {
    case "import": {
      const result = await importFiles(device, order.order, tell, signal);
      announceChange("projects");
      announceChange("files");
      return result;
    }
    case "export":
      return exportProject(device, order.projectId, (done, total) => tell({ done, total }), signal);
    case "search":
      return searchTexts(device, order.projectId, order.words, signal);
    case "sweep":
      return sweepStaging(device);
    case "measure":
      return measureDevice(device);
    case "exportDevice":
      return exportDevice(device, order.more, (done, total) => tell({ done, total }), signal);
  }
}

self.onmessage = async ({ data }: MessageEvent<Message>) => {
  if (data.kind === "cancel") return running.get(data.number)?.abort();
  const { number } = data;
  const reply = (message: Reply) => self.postMessage(message);
  const control = new AbortController();
  running.set(number, control);
  try {
    reply({ number, result: await carryOut(data, (progress) => reply({ number, progress }), control.signal) });
  } catch (error) {
    reply({
      number,
      error:
        error instanceof Error
          ? { name: error.name, message: error.message }
          : { name: "Error", message: String(error) },
    });
  } finally {
    running.delete(number);
  }
};
