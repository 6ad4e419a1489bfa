// The stores of the device's database: how much is in each, and all of it as one zip. Runs in a worker.

import { STORES, type Device, type StoreName } from "../device/database";
import { ZipWriter } from "./packing";

export interface Measured {
  readonly store: StoreName;
  readonly rows: number;
  /** About: texts as UTF-8, bytes as they are. */
  readonly bytes: number;
}

export async function measureDevice(device: Device): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const store of STORES) {
    let [rows, bytes] = [0, 0];
    await device.read(store, (stores) =>
      stores[store].each((row) => {
        rows++;
        bytes += sizeOf(row);
      }),
    );
    measured.push({ store, rows, bytes });
  }
  return measured;
}

/** What a value takes, near enough to compare. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Blob) return value.size;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + sizeOf(each), 0);
  if (value && typeof value === "object")
    return Object.entries(value).reduce((sum, [key, each]) => sum + key.length + sizeOf(each), 0);
  return 8;
}

/**
 * Everything, for whoever wants to take it along: `<store>.jsonl` with one row per line, and bytes as files of their own that the rows
 * name. `more` are texts that only the page itself can reach, such as its local storage.
 */
export async function exportDevice(
  device: Device,
  more: Record<string, string>,
  tell: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<Blob> {
  const writer = new ZipWriter();
  const now = new Date();
  for (const [name, text] of Object.entries(more)) writer.addText(name, text);
  for (const [n, store] of STORES.entries()) {
    signal.throwIfAborted();
    const lines: Blob[] = [];
    const blobs: { name: string; blob: Blob }[] = [];
    await device.read(store, (stores) =>
      stores[store].each((row) => {
        const named = nameBytes(row, `${store}/${lines.length}`, blobs);
        lines.push(new Blob([JSON.stringify(named), "\n"]));
      }),
    );
    await writer.add(`${store}.jsonl`, new Blob(lines), now);
    for (const { name, blob } of blobs) await writer.add(name, blob, now);
    tell(n + 1, STORES.length);
  }
  return writer.finish();
}

/** The row as JSON can hold it: bytes are replaced by the name of the file that has them, vectors by their numbers. */
function nameBytes(value: unknown, name: string, blobs: { name: string; blob: Blob }[]): unknown {
  if (value instanceof Blob) {
    blobs.push({ name, blob: value });
    return { file: name, type: value.type };
  }
  if (value instanceof Float32Array) return Array.from(value);
  if (Array.isArray(value)) return value.map((each, n) => nameBytes(each, `${name}-${n}`, blobs));
  if (value && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, nameBytes(each, `${name}-${key}`, blobs)]),
    );
  }
  return value;
}
