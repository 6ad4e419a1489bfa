// A project as a zip, written piece by piece. Its first entry is the manifest; everything else lies under its own path, so that any
// program can open it. Runs in a worker.

import { strToU8, Zip, ZipDeflate, ZipPassThrough } from "fflate";
import type { Device, FileRow } from "../device/database";
import { MANIFEST, writeManifest } from "./manifest";

const PIECE = 1_000_000;
const ASIDE = 8_000_000;
/** Packed already: another pass costs time and saves nothing. */
const PACKED = /\.(?:zip|gz|7z|docx|xlsx|pptx|epub|png|jpe?g|gif|webp|avif|mp[34]|webm|ogg|woff2?)$/i;
const OLDEST = new Date(1980, 0, 1);
const NEWEST = new Date(2099, 11, 31);

export interface Exported {
  readonly blob: Blob;
  readonly files: number;
}

export async function exportProject(
  device: Device,
  projectId: string,
  tell: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<Exported> {
  const project = await device.read("projects", (stores) => stores.projects.get(projectId));
  if (!project) throw new Error("This project is no longer on this device.");
  const rows = await device.read("files", (stores) => stores.files.allBy("project", projectId));
  const facts = rows.map(
    (row) => [row.path, { title: row.title, type: row.type, modified_at: row.modified_at }] as const,
  );
  const writer = new ZipWriter();
  writer.addText(MANIFEST, writeManifest({ name: project.name, files: Object.fromEntries(facts) }));
  let done = 0;
  for (const row of rows) {
    signal.throwIfAborted();
    const content = await device.read("contents", (stores) => stores.contents.get(row.id));
    if (content) await writer.add(row.path.slice(1), content.blob ?? new Blob([content.text ?? ""]), dateOf(row));
    tell(++done, rows.length);
  }
  return { blob: writer.finish(), files: rows.length };
}

function dateOf(row: FileRow): Date {
  const date = new Date(row.modified_at);
  return Number.isNaN(date.getTime()) || date < OLDEST ? OLDEST : date > NEWEST ? NEWEST : date;
}

/** Collects a zip. What is written is handed to the browser every few megabytes, which may put it on the disk. */
export class ZipWriter {
  private readonly zip = new Zip((error, piece) => {
    if (error) throw error;
    this.pieces.push(piece as Uint8Array<ArrayBuffer>);
    this.waiting += piece.length;
    if (this.waiting >= ASIDE) this.putAside();
  });
  private pieces: BlobPart[] = [];
  private waiting = 0;
  private written: Blob[] = [];

  addText(name: string, text: string): void {
    const entry = new ZipDeflate(name, { level: 6 });
    this.zip.add(entry);
    entry.push(strToU8(text), true);
  }

  async add(name: string, content: Blob, modifiedAt: Date): Promise<void> {
    const entry = PACKED.test(name) ? new ZipPassThrough(name) : new ZipDeflate(name, { level: 6 });
    entry.mtime = modifiedAt;
    this.zip.add(entry);
    if (!content.size) entry.push(new Uint8Array(), true);
    for (let at = 0; at < content.size; at += PIECE) {
      entry.push(new Uint8Array(await content.slice(at, at + PIECE).arrayBuffer()), at + PIECE >= content.size);
    }
  }

  finish(): Blob {
    this.zip.end();
    this.putAside();
    return new Blob(this.written, { type: "application/zip" });
  }

  private putAside(): void {
    this.written.push(new Blob(this.pieces));
    [this.pieces, this.waiting] = [[], 0];
  }
}
