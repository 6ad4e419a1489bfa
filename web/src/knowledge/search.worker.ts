// Searches what is kept. Passages and vectors are read once and held until something changes; a search is then a few milliseconds.

/// <reference lib="webworker" />
import { onChange, openDevice, type Chunk } from "../device/database";
import { byMeaning, byWords, choose, fold, VectorTable, type Hit } from "./retrieval";

export interface Question {
  readonly id: number;
  readonly database: string;
  readonly text: string;
  /** With it, passages that have a vector of this embedder are compared by meaning. */
  readonly vector: Float32Array | null;
  readonly embedder: string | null;
}
export type Answer = { id: number; hits: Hit[] } | { id: number; problem: string };

interface Shelf {
  readonly key: string;
  readonly meant: Chunk[];
  readonly table: VectorTable;
  readonly plain: Chunk[];
  readonly folded: string[];
  readonly addresses: Map<string, string>;
}

const scope = self as unknown as DedicatedWorkerGlobalScope;
let shelf: Promise<Shelf> | null = null;
let shelfKey = "";
onChange("documents", () => (shelf = null));

scope.onmessage = ({ data }: MessageEvent<Question>) => {
  search(data).then(
    (hits) => scope.postMessage({ id: data.id, hits } satisfies Answer),
    (error: unknown) => scope.postMessage({ id: data.id, problem: error instanceof Error ? error.message : String(error) } satisfies Answer),
  );
};

async function search(question: Question): Promise<Hit[]> {
  const key = `${question.database} ${question.embedder}`;
  if (key !== shelfKey) shelf = null;
  shelfKey = key;
  const { meant, table, plain, folded, addresses } = await (shelf ??= load(question));
  const ways = [question.vector ? byMeaning(question.vector, meant, table) : [], byWords(question.text, plain, folded)];
  return choose(ways, (chunk) => addresses.get(chunk.document_id));
}

async function load({ database, embedder }: Question): Promise<Shelf> {
  const device = await openDevice(database);
  const [documents, chunks, vectors] = await device.read(["documents", "chunks", "vectors"], (stores) =>
    Promise.all([stores.documents.all(), stores.chunks.all(), stores.vectors.all()]),
  );
  const vectorOf = new Map(vectors.filter((row) => row.embedder === embedder).map((row) => [row.chunk_id, row.vector]));
  const meant = chunks.filter((chunk) => vectorOf.has(chunk.id));
  const plain = chunks.filter((chunk) => !vectorOf.has(chunk.id));
  // Only what is an address and nothing more is one with the others of its address.
  const addresses = new Map(documents.flatMap((row) => (row.kind === "url" && row.url && !row["fetched_at"] ? [[row.id, row.url] as const] : [])));
  const table = VectorTable.of(meant.map((chunk) => vectorOf.get(chunk.id)!));
  return { key: shelfKey, meant, table, plain, folded: plain.map((chunk) => fold(chunk.text)), addresses };
}
