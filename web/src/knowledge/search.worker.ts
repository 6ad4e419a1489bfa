// Searches what is kept. Passages, their words and their vectors are read once and held until something changes; a search is then a few
// milliseconds.

/// <reference lib="webworker" />
import { onChange, openDevice } from "../device/database";
import { titleOf, withContext } from "./context";
import { NARROW, retrieve, VectorTable, WIDE, WordIndex, type Hit, type Shelf } from "./retrieval";

export interface Question {
  readonly id: number;
  readonly database: string;
  readonly text: string;
  /** With it, passages that have a vector of this embedder are compared by meaning, too. */
  readonly vector: Float32Array | null;
  readonly embedder: string | null;
  /** The documents are all there is to answer from. */
  readonly wide: boolean;
}
export type Answer = { id: number; hits: Hit[] } | { id: number; problem: string };

interface Held extends Shelf {
  readonly addresses: Map<string, string>;
}

const scope = self as unknown as DedicatedWorkerGlobalScope;
let shelf: Promise<Held> | null = null;
let shelfKey = "";
/** Most changes bring vectors and no words: then the index of the words stays. */
let indexed: { readonly of: string; readonly words: WordIndex } | null = null;
onChange("documents", () => (shelf = null));

scope.onmessage = ({ data }: MessageEvent<Question>) => {
  search(data).then(
    (hits) => scope.postMessage({ id: data.id, hits } satisfies Answer),
    (error: unknown) =>
      scope.postMessage({
        id: data.id,
        problem: error instanceof Error ? error.message : String(error),
      } satisfies Answer),
  );
};

async function search(question: Question): Promise<Hit[]> {
  const key = `${question.database} ${question.embedder}`;
  if (key !== shelfKey) shelf = null;
  shelfKey = key;
  const held = await (shelf ??= load(question));
  return retrieve(
    held,
    question.text,
    question.vector,
    (chunk) => held.addresses.get(chunk.document_id),
    question.wide ? WIDE : NARROW,
  );
}

async function load({ database, embedder }: Question): Promise<Held> {
  const device = await openDevice(database);
  const [documents, chunks, vectors] = await device.read(["documents", "chunks", "vectors"], (stores) =>
    Promise.all([stores.documents.all(), stores.chunks.all(), stores.vectors.all()]),
  );
  const vectorOf = new Map(vectors.filter((row) => row.embedder === embedder).map((row) => [row.chunk_id, row.vector]));
  const rows = chunks.flatMap((chunk, n) => (vectorOf.has(chunk.id) ? [n] : []));
  const table = VectorTable.of(rows.map((n) => vectorOf.get(chunks[n]!.id)!));
  const titles = new Map(documents.map((row) => [row.id, titleOf(row)]));
  const of = documents.map((row) => `${row.id} ${row["fetched_at"]} ${row["passages"]}`).join();
  const { words } = (indexed =
    indexed?.of === of
      ? indexed
      : { of, words: WordIndex.of(chunks.map((chunk) => withContext(chunk, titles.get(chunk.document_id)))) });
  // Only what is an address and nothing more is one with the others of its address.
  const addresses = new Map(
    documents.flatMap((row) =>
      row.kind === "url" && row.url && !row["fetched_at"] ? [[row.id, row.url] as const] : [],
    ),
  );
  return { chunks, words, rows, table, addresses };
}
