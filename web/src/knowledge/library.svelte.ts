// What is kept here as knowledge, and what is being added. A document is kept whole or not at all: it and its passages are one transaction.
// Vectors come after it, in the background, a few passages at a time; until they are there its passages are found by words.
//
//   waiting -> reading -> kept        (shown for a moment, then it is in the list)
//           \-> stopped | failed      (nothing of it is here)

import {
  announceChange,
  onChange,
  openDevice,
  type Chunk,
  type Device,
  type KnowledgeDocument,
} from "../device/database";
import type { Embedder } from "../embedding/embedder";
import { bytes, plural } from "../lib/words";
import { titleOf, withContext } from "./context";
import { MAX_FILE_BYTES, type DocumentKind } from "./extraction";
import { fetchPage } from "./fetching";
import { officeKindOf, readOnServer } from "./office";
import { placeOf } from "./parts";
import type { FromReader, Read, ToReader } from "./reading.worker";
import { sending } from "./sending.svelte";
import { summary } from "./summary.svelte";

export interface Kept extends KnowledgeDocument {
  kind: DocumentKind | "note" | "url";
  passages: number;
  /** As the document calls itself. */
  title?: string;
  /** "12 slides". */
  extent?: string;
  /** What was left out, in a sentence of the reader's. */
  note?: string;
  /** Of a PDF that was kept before passages named their place: where each page begins. */
  pages?: number[];
  /** Of an address: when its page was fetched. */
  fetched_at?: string;
}

export interface Item {
  readonly id: number;
  readonly label: string;
  readonly state: "waiting" | "reading" | "kept" | "merged" | "failed";
  /** What became of it, or how far it is, in words. */
  readonly words: string;
  /** Of one that is kept: which document it is. */
  readonly document?: string;
  readonly done?: number;
  readonly of?: number;
}

const MOST_ITEMS = 500;
const READ_MS = 180_000;
const EMBEDDED_AT_ONCE = 24;
const TELL_EVERY_MS = 3_000;
const LOCK = "stepwell.knowledge.vectors";

class Library {
  documents = $state.raw<readonly Kept[]>([]);
  items = $state.raw<readonly Item[]>([]);
  loaded = $state(false);
  /** Why nothing can be kept here. */
  problem = $state.raw<unknown>(null);
  /** Passages that have no vector yet, while they are being made. */
  preparing = $state<{ done: number; of: number } | null>(null);
  /** Undefined: not known yet. Null: the server lends none. */
  embedder = $state.raw<Embedder | null | undefined>(undefined);

  /** Documents that were added just now. */
  readonly added = $derived(this.items.flatMap((item) => item.document ?? []));

  private readonly stops = new Map<number, AbortController>();
  private queue: Promise<void> = Promise.resolve();
  private last = 0;
  private embedding: AbortController | null = null;

  constructor() {
    onChange("documents", () => void this.load());
  }

  async load(): Promise<void> {
    try {
      const device = await openDevice();
      const rows = (await device.read("documents", (stores) => stores.documents.all())) as Kept[];
      this.documents = rows.sort((one, two) => two.added_at.localeCompare(one.added_at));
      summary.documents = rows.length;
      this.problem = null;
    } catch (error) {
      this.problem = error;
    }
    this.loaded = true;
  }

  // Adding -----------------------------------------------------------------------------------------------------------------------

  /** Files that the server has to read wait until the person says that they may be sent; `agreed`: that was said. */
  addFiles(files: readonly File[], agreed = false): void {
    const taken = files.slice(0, MOST_ITEMS);
    const held = agreed ? [] : taken.filter((file) => sending.mustAsk(file));
    if (held.length) sending.ask(held);
    for (const file of taken)
      if (!held.includes(file)) this.add(file.name, (item, signal) => this.readFile(item, file, signal));
    if (files.length > MOST_ITEMS)
      this.show({
        id: ++this.last,
        label: `${files.length - MOST_ITEMS} more files`,
        state: "failed",
        words: `${MOST_ITEMS} are taken at a time. Add the others after these.`,
      });
  }

  /** The person does not want them to be sent. */
  leaveOut(files: readonly File[]): void {
    for (const file of files)
      this.show({
        id: ++this.last,
        label: file.name,
        state: "failed",
        words: "Not read: it was not sent to the server. Nothing of it was kept.",
      });
  }

  addNote(title: string, text: string): void {
    const label = title.trim() || firstWords(text);
    this.add(label, async (item, signal) =>
      this.keep(item, { kind: "note", label, size: text.length }, await readWith({ kind: "text", text }, signal)),
    );
  }

  addAddress(given: string): void {
    const url = URL.parse(given.trim());
    this.add(given.trim().slice(0, 200), async (item) => {
      if (!url || !/^https?:$/.test(url.protocol))
        throw new Error("This is no address of a page. It begins with https:// or http://.");
      [url.hash, url.username, url.password] = ["", "", ""];
      const label = url.href
        .replace(/^https?:\/\//, "")
        .replace(/\/$/, "")
        .slice(0, 200);
      const passage = { start: 0, end: url.href.length, text: url.href };
      await this.keep(
        item,
        { kind: "url", label, url: url.href, size: url.href.length },
        {
          documentKind: "text",
          title: "",
          passages: [passage],
          characters: url.href.length,
          extent: "",
          hash: `url:${url.href}`,
        },
      );
    });
  }

  stop(id: number): void {
    this.stops.get(id)?.abort();
    const item = this.items.find((each) => each.id === id);
    if (item) this.show({ ...item, state: "failed", words: "Stopped. Nothing of it was kept.", done: undefined });
  }

  dismiss(id: number): void {
    this.items = this.items.filter((item) => item.id !== id);
  }

  /** What is kept is a document like any other from now on. */
  forgetKept(): void {
    this.items = this.items.filter((each) => each.state !== "kept");
  }

  private add(label: string, work: (item: Item, signal: AbortSignal) => Promise<void>): void {
    const item: Item = { id: ++this.last, label, state: "waiting", words: "Waiting" };
    const stop = new AbortController();
    this.stops.set(item.id, stop);
    // What came before and is kept is in the list of documents by now.
    if (!this.items.some((each) => each.state === "waiting" || each.state === "reading")) this.forgetKept();
    this.items = [...this.items, item];
    this.queue = this.queue.then(async () => {
      if (stop.signal.aborted) return;
      try {
        this.show({ ...item, state: "reading", words: "Reading" });
        await work(item, stop.signal);
      } catch (error) {
        if (!stop.signal.aborted)
          this.show({ ...item, state: "failed", words: error instanceof Error ? error.message : String(error) });
      } finally {
        this.stops.delete(item.id);
      }
    });
  }

  private show(item: Item): void {
    const known = this.items.some((each) => each.id === item.id);
    this.items = known ? this.items.map((each) => (each.id === item.id ? item : each)) : [...this.items, item];
  }

  private async readFile(item: Item, file: File, signal: AbortSignal): Promise<void> {
    if (file.size > MAX_FILE_BYTES)
      throw new Error(
        `This file has ${bytes(file.size)}; at most ${bytes(MAX_FILE_BYTES)} can be read here. Add the part of it that you need.`,
      );
    const kind = officeKindOf(file.name);
    const document = kind && (await readOnServer(file, signal));
    const what: ToReader = document
      ? { kind: "document", documentKind: kind, ...document }
      : { kind: "file", name: file.name, blob: file };
    const read = await readWith(what, signal, (done, of) =>
      this.show({ ...item, state: "reading", words: `Page ${done} of ${of}`, done, of }),
    );
    const note = document?.note ? { note: document.note } : {};
    await this.keep(
      item,
      { kind: read.documentKind, label: file.name.slice(0, 200), size: file.size, ...note },
      read,
      signal,
    );
  }

  /** The document with its passages, in one transaction. */
  private async keep(
    item: Item,
    about: Pick<Kept, "kind" | "label" | "size" | "url" | "note">,
    read: Read,
    signal?: AbortSignal,
  ): Promise<void> {
    const device = await openDevice();
    signal?.throwIfAborted();
    const id = crypto.randomUUID();
    const row: Kept = {
      ...about,
      id,
      hash: read.hash,
      added_at: new Date().toISOString(),
      state: "kept",
      passages: read.passages.length,
      ...describe(read),
    };
    const same = await device.write(["documents", "chunks"], async (stores) => {
      const known = await stores.documents.by("hash", read.hash);
      if (known) return known;
      await stores.documents.add(row);
      await Promise.all(chunksOf(id, read).map((chunk) => stores.chunks.add(chunk)));
      return null;
    });
    if (same)
      return this.show({
        ...item,
        state: "merged",
        document: same.id,
        words: `The same text is here already, as “${same.label}”. It is kept once.`,
      });
    this.show({
      ...item,
      state: "kept",
      document: id,
      words: [plural(read.passages.length, "passage"), about.note].filter(Boolean).join(". "),
    });
    announceChange("documents");
    void this.prepare();
  }

  // Pages ------------------------------------------------------------------------------------------------------------------------

  /** Has the server fetch the page of an address: the address leaves the device for that, and is listed as such. */
  async fetchPage(document: Kept): Promise<string> {
    const page = await fetchPage(document.url!, document.label);
    const read = await readWith({ kind: "text", text: page.text, headings: true }, new AbortController().signal);
    const device = await openDevice();
    const label = (page.title || document.label).slice(0, 200);
    await device.write(["documents", "chunks", "vectors"], async (stores) => {
      if (!(await stores.documents.get(document.id))) return;
      await removeChunks(stores, document.id);
      await stores.documents.put({
        ...document,
        label,
        size: page.text.length,
        passages: read.passages.length,
        fetched_at: page.fetched_at,
      });
      await Promise.all(chunksOf(document.id, read).map((chunk) => stores.chunks.add(chunk)));
    });
    announceChange("documents");
    void this.prepare();
    return page.note;
  }

  // Removing ---------------------------------------------------------------------------------------------------------------------

  async remove(id: string): Promise<void> {
    const device = await openDevice();
    await device.write(["documents", "chunks", "vectors"], async (stores) => {
      await stores.documents.delete(id);
      await removeChunks(stores, id);
    });
    announceChange("documents");
  }

  // Reading back -----------------------------------------------------------------------------------------------------------------

  /** A document's passages in their order; empty: this device does not have it. */
  async passagesOf(id: string): Promise<Chunk[]> {
    const device = await openDevice();
    return device.read("chunks", (stores) =>
      stores.chunks.allBy("document", IDBKeyRange.bound([id, 0], [id, Infinity])),
    );
  }

  // Vectors ----------------------------------------------------------------------------------------------------------------------

  /** Makes the vectors that are missing, or are another embedder's. One tab at a time does it. */
  async prepare(): Promise<void> {
    if (this.embedding) return void (this.again = true);
    const stop = (this.embedding = new AbortController());
    try {
      this.embedder = await (await import("../embedding/embedder")).embedder();
      if (this.embedder)
        await navigator.locks.request(
          LOCK,
          { ifAvailable: true },
          async (lock) => lock && this.embedMissing(this.embedder!, stop.signal),
        );
    } catch (error) {
      if (!stop.signal.aborted)
        console.warn("Passages are found by words: they could not be prepared for search by meaning.", error);
    } finally {
      [this.embedding, this.preparing] = [null, null];
    }
    if (this.again) {
      this.again = false;
      await this.prepare();
    }
  }
  private again = false;

  private async embedMissing(made: Embedder, signal: AbortSignal): Promise<void> {
    const device = await openDevice();
    const titles = new Map<string, string>();
    const missing = await device.read(["documents", "chunks", "vectors"], async (stores) => {
      for (const row of await stores.documents.all()) titles.set(row.id, titleOf(row));
      const have = new Set<string>();
      await stores.vectors.each((row) => void (row.embedder === made.id && have.add(row.chunk_id)));
      const found: Chunk[] = [];
      await stores.chunks.each((chunk) => void (have.has(chunk.id) || found.push(chunk)));
      return found;
    });
    let told = performance.now();
    for (let at = 0; at < missing.length; at += EMBEDDED_AT_ONCE) {
      this.preparing = { done: at, of: missing.length };
      const part = missing.slice(at, at + EMBEDDED_AT_ONCE);
      const vectors = await made.embed(
        part.map((chunk) => withContext(chunk, titles.get(chunk.document_id))),
        signal,
      );
      await keepVectors(device, made.id, part, vectors);
      if (performance.now() - told < TELL_EVERY_MS && at + EMBEDDED_AT_ONCE < missing.length) continue;
      announceChange("documents");
      told = performance.now();
    }
  }
}

export const library = new Library();

function readWith(what: ToReader, signal: AbortSignal, onProgress?: (done: number, of: number) => void): Promise<Read> {
  const worker = new Worker(new URL("./reading.worker.ts", import.meta.url), { type: "module", name: "reader" });
  return new Promise<Read>((resolve, reject) => {
    const late = setTimeout(
      () => reject(new Error("Reading this document took too long. Nothing of it was kept.")),
      READ_MS,
    );
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    worker.onerror = () => reject(new Error("This document could not be read. Nothing of it was kept."));
    worker.onmessage = ({ data }: MessageEvent<FromReader>) => {
      if (data.kind === "progress") return onProgress?.(data.done, data.of);
      clearTimeout(late);
      if (data.kind === "read") resolve(data.read);
      else reject(new Error(data.message));
    };
    signal.throwIfAborted();
    worker.postMessage(what);
  }).finally(() => worker.terminate());
}

type KnowledgeStores = Parameters<Parameters<Awaited<ReturnType<typeof openDevice>>["write"]>[1]>[0];

async function removeChunks(stores: Pick<KnowledgeStores, "chunks" | "vectors">, id: string): Promise<void> {
  for (const store of [stores.chunks, stores.vectors]) {
    const query = store === stores.chunks ? IDBKeyRange.bound([id, 0], [id, Infinity]) : id;
    for (const key of await store.keysBy("document", query)) await store.delete(key);
  }
}

/** Of passages that are still what was embedded: meanwhile a page may have been fetched again, or a document removed. */
export async function keepVectors(
  device: Device,
  embedder: string,
  embedded: readonly Chunk[],
  vectors: readonly Float32Array[],
): Promise<void> {
  await device.write(["chunks", "vectors"], async (stores) => {
    for (const [n, { id, document_id, text }] of embedded.entries()) {
      if ((await stores.chunks.get(id))?.text === text)
        await stores.vectors.put({ chunk_id: id, document_id, embedder, vector: vectors[n]! });
    }
  });
}

function chunksOf(document_id: string, read: Read): Chunk[] {
  return read.passages.map((passage, n) => ({ id: `${document_id}:${n}`, document_id, n, ...passage }));
}

const describe = ({ title, extent }: Read): Pick<Kept, "title" | "extent"> => ({
  ...(title ? { title } : {}),
  ...(extent ? { extent } : {}),
});

/** Where something stands in its document: "page 12", "sheet Sales, A5:F5"; empty where that has no parts. */
export function placeIn(
  document: Pick<Kept, "pages">,
  chunk: Pick<Chunk, "start" | "end" | "place" | "parts">,
  start = chunk.start,
  end = chunk.end,
): string {
  if (chunk.parts) return placeOf(chunk.parts, start, end);
  if (chunk.place !== undefined) return chunk.place;
  const page = document.pages ? document.pages.findLastIndex((begins) => begins <= start) + 1 : 0;
  return page > 0 && document.pages!.length > 1 ? `page ${page}` : "";
}

const firstWords = (text: string): string => text.trim().split(/\s+/).slice(0, 8).join(" ").slice(0, 80) || "Note";
