/**
 * What the page keeps on this device: one IndexedDB database for each account, opened here and nowhere else.
 *
 *   const device = await openDevice();
 *   const names = await device.read("projects", (stores) => stores.projects.all());
 *   await device.write(["files", "contents"], async (stores) => { ... });      one transaction: all of it or nothing, safe when it resolves
 *
 * Inside the function only promises of the stores may be awaited: a transaction ends by itself as soon as it has nothing to do.
 * A file's listing (`files`) and its content (`contents`) are kept apart, so that listing thousands of files reads no text.
 * A worker opens the same database by its name: `openDevice(device.name)`.
 */

import { isEverythingErased } from "../lib/kept";
import { DeviceUnavailableError, openConnection, translate } from "./connection";

export { DeviceUnavailableError, QuotaError } from "./connection";
export { announceChange, onChange } from "./changes";

export interface Project {
  id: string;
  name: string;
  created_at: string;
  /** Whether the person is asked before an agent's change. */
  write_approval: boolean;
  /** Whether an agent may keep its own notes here; missing until the person was asked. */
  keeps_notes?: boolean;
  kind: "kept" | "folder";
  handle?: FileSystemDirectoryHandle;
}

/** One line of a listing. Its text or its bytes are in `contents` under the same id. */
export interface FileRow {
  id: string;
  project_id: string;
  path: string;
  /** The path in normal form and without case: two names that differ only in these are one. */
  path_key: string;
  title: string;
  type: string;
  /** SHA-256 of the UTF-8 text or of the bytes, in hexadecimal. */
  hash: string;
  /** In bytes. */
  size: number;
  modified_at: string;
  /** Bytes that are no text. */
  binary?: boolean;
}

export interface FileContent {
  file_id: string;
  project_id: string;
  text?: string;
  blob?: Blob;
}

/** What a file was before a change, or before it was removed. */
export interface FileVersion {
  id: string;
  file_id: string;
  project_id: string;
  path: string;
  text?: string;
  blob?: Blob;
  hash: string;
  at: string;
  /** Who made the change that this version was replaced by. */
  by: "you" | "agent" | "import";
  reason: string;
}

export interface KnowledgeDocument {
  id: string;
  kind: string;
  label: string;
  url?: string;
  hash: string;
  size: number;
  added_at: string;
  state: string;
  [more: string]: unknown;
}

export interface Chunk {
  id: string;
  document_id: string;
  n: number;
  start: number;
  end: number;
  text: string;
  /** The headings above it. */
  section?: string;
  /** "page 3", "sheet Sales, A5:F9". */
  place?: string;
  /** Where several rows or lines stand in it. */
  parts?: readonly { readonly start: number; readonly name: string; readonly cells: string }[];
}

export interface StoredVector {
  chunk_id: string;
  document_id: string;
  embedder: string;
  vector: Float32Array;
}

/** What the passages of a file mean, as one model says it: a cache, found by the file's hash. */
export interface FileVectors {
  /** Embedder and hash. */
  key: string;
  hash: string;
  count: number;
  /** `count` vectors, one behind the other. */
  vectors: Float32Array;
}

/** What was worked out here for an interrupt. Until `delivered_at` is set the server does not have it, and it must not get lost. */
export interface OutboxRow {
  interrupt_id: string;
  thread_id: string;
  assistant_id: string;
  claim_id: string | null;
  answer: { tool_results: readonly unknown[] };
  /** The calls that were asked for: an interrupt that is asked again with others is another question. */
  question: string;
  at: string;
  /** What the person is told about it. */
  words: string;
  delivered_at?: string;
}

/** Something that was sent to the server. The store of these is called `departures`. */
export interface SentRecord {
  id: string;
  at: string;
  kind: "file" | "snippet" | "listing";
  thread_id: string;
  /** Who got it: an assistant, for instance. */
  to: string;
  label: string;
  characters: number;
  excerpt: string;
  /** The size of a file that left as it is. */
  bytes?: number;
}

export interface Setting {
  key: string;
  value: unknown;
}

export interface PurseRow {
  id: string;
  [more: string]: unknown;
}

/** Store -> its rows. */
export interface Rows {
  projects: Project;
  files: FileRow;
  contents: FileContent;
  versions: FileVersion;
  documents: KnowledgeDocument;
  chunks: Chunk;
  vectors: StoredVector;
  file_vectors: FileVectors;
  outbox: OutboxRow;
  departures: SentRecord;
  settings: Setting;
  purse: PurseRow;
}

export type StoreName = keyof Rows;

interface Form {
  key: string;
  /** Name -> path. */
  indexes?: Record<string, string | string[]>;
  unique?: string[];
}

const VERSION = 1;
const FORMS: Record<StoreName, Form> = {
  projects: { key: "id" },
  files: { key: "id", indexes: { project: "project_id", path: ["project_id", "path_key"] }, unique: ["path"] },
  contents: { key: "file_id", indexes: { project: "project_id" } },
  versions: { key: "id", indexes: { project: "project_id", file: ["file_id", "at"] } },
  documents: { key: "id", indexes: { hash: "hash" } },
  chunks: { key: "id", indexes: { document: ["document_id", "n"] } },
  vectors: { key: "chunk_id", indexes: { document: "document_id" } },
  file_vectors: { key: "key" },
  outbox: { key: "interrupt_id" },
  departures: { key: "id", indexes: { at: "at", thread: "thread_id" } },
  settings: { key: "key" },
  purse: { key: "id" },
};

/** All of them, for whoever counts, exports or erases. */
export const STORES = Object.keys(FORMS) as StoreName[];

/** One store within a transaction. */
export class Store<Row> {
  constructor(private readonly raw: IDBObjectStore) {}

  get(key: IDBValidKey): Promise<Row | undefined> {
    return settle(this.raw.get(key));
  }

  all(query?: IDBValidKey | IDBKeyRange | null, count?: number): Promise<Row[]> {
    return settle(this.raw.getAll(query, count));
  }

  count(query?: IDBValidKey | IDBKeyRange): Promise<number> {
    return settle(this.raw.count(query));
  }

  /** The first row of an index under a key. */
  by(index: string, key: IDBValidKey): Promise<Row | undefined> {
    return settle(this.raw.index(index).get(key));
  }

  allBy(index: string, query?: IDBValidKey | IDBKeyRange | null, count?: number): Promise<Row[]> {
    return settle(this.raw.index(index).getAll(query, count));
  }

  keysBy(index: string, query?: IDBValidKey | IDBKeyRange | null): Promise<IDBValidKey[]> {
    return settle(this.raw.index(index).getAllKeys(query));
  }

  countBy(index: string, query?: IDBValidKey | IDBKeyRange): Promise<number> {
    return settle(this.raw.index(index).count(query));
  }

  /** Row by row, without holding all of them; `false` ends it. `index`: in its order. */
  async each(
    visit: (row: Row) => boolean | void,
    index?: string,
    query?: IDBKeyRange | null,
    direction?: IDBCursorDirection,
  ): Promise<void> {
    const request = (index ? this.raw.index(index) : this.raw).openCursor(query, direction);
    await new Promise<void>((resolve, reject) => {
      request.onerror = () => reject(translate(request.error));
      request.onsuccess = () => {
        const cursor = request.result;
        if (!cursor || visit(cursor.value as Row) === false) resolve();
        else cursor.continue();
      };
    });
  }

  /** Fails if the key is there. */
  async add(row: Row): Promise<void> {
    await settle(this.raw.add(row));
  }

  async put(row: Row): Promise<void> {
    await settle(this.raw.put(row));
  }

  async delete(key: IDBValidKey | IDBKeyRange): Promise<void> {
    await settle(this.raw.delete(key));
  }

  async clear(): Promise<void> {
    await settle(this.raw.clear());
  }
}

export type Stores<Names extends StoreName = StoreName> = { readonly [Name in Names]: Store<Rows[Name]> };

type Work<Names extends StoreName, Result> = (stores: Stores<Names>) => Result | Promise<Result>;

export class Device {
  private connection: Promise<IDBDatabase> | null = null;

  constructor(readonly name: string) {}

  read<Names extends StoreName, Result>(stores: Names | readonly Names[], work: Work<Names, Result>): Promise<Result> {
    return this.transact("readonly", stores, work);
  }

  /** One transaction. Resolves when everything is on the disk; if anything fails, nothing of it has happened. */
  write<Names extends StoreName, Result>(stores: Names | readonly Names[], work: Work<Names, Result>): Promise<Result> {
    return this.transact("readwrite", stores, work);
  }

  close(): void {
    void this.connection?.then((connection) => connection.close());
    this.connection = null;
  }

  /** The connection, opened again if the browser or a newer tab has closed it. */
  async open(): Promise<IDBDatabase> {
    // Whoever looks into it now and then would make it anew.
    if (isEverythingErased())
      throw new DeviceUnavailableError("Everything of this page was erased in this browser. Load the page again.");
    const opening = (this.connection ??= openConnection(this.name, VERSION, create, () => (this.connection = null)));
    try {
      return await opening;
    } catch (error) {
      if (this.connection === opening) this.connection = null;
      throw error;
    }
  }

  private async transact<Names extends StoreName, Result>(
    mode: IDBTransactionMode,
    stores: Names | readonly Names[],
    work: Work<Names, Result>,
  ): Promise<Result> {
    const names = (typeof stores === "string" ? [stores] : [...stores]) as StoreName[];
    const transaction = (await this.open()).transaction(names, mode, { durability: "strict" });
    const ended = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(translate(transaction.error));
    });
    const opened = Object.fromEntries(names.map((name) => [name, new Store(transaction.objectStore(name))]));
    try {
      const result = await work(opened as unknown as Stores<Names>);
      await ended;
      return result;
    } catch (error) {
      ended.catch(() => undefined); // It is told below, with its reason.
      await abort(transaction);
      throw error;
    }
  }
}

/** The database of the person who is signed in, or the one with this name. */
export async function openDevice(name?: string): Promise<Device> {
  const wanted = name ?? (await (await import("./owner")).databaseName());
  const device = opened.get(wanted) ?? new Device(wanted);
  opened.set(wanted, device);
  await device.open();
  return device;
}

const opened = new Map<string, Device>();

function create(database: IDBDatabase): void {
  for (const [name, form] of Object.entries(FORMS)) {
    const store = database.createObjectStore(name, { keyPath: form.key });
    for (const [index, path] of Object.entries(form.indexes ?? {})) {
      store.createIndex(index, path, { unique: form.unique?.includes(index) ?? false });
    }
  }
}

function settle<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(translate(request.error));
  });
}

/** Takes everything back, and waits until it is. */
async function abort(transaction: IDBTransaction): Promise<void> {
  const aborted = new Promise<void>((resolve) =>
    transaction.addEventListener("abort", () => resolve(), { once: true }),
  );
  try {
    transaction.abort();
  } catch (error) {
    if (error instanceof DOMException && error.name === "InvalidStateError") return; // It has ended already.
    throw error;
  }
  await aborted;
}
