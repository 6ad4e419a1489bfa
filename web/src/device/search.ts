/**
 * Passages of a project's files that are near to a query: by meaning where there is a model, else by words, and the answer says which.
 *
 * Vectors are kept by the hash of the file that they are of, so that a file is embedded once, whatever its name. A first search of a large
 * project would embed for minutes: it embeds the files that have most words of the query, and others another time.
 */

import type { FileRow } from "./database";
import type { ProjectFiles } from "./files";
import type { Content } from "./calls";

export interface Embedder {
  readonly id: string;
  embed(texts: string[]): Promise<Float32Array[]>;
}

export interface Passage {
  readonly path: string;
  readonly text: string;
  /** From 1. */
  readonly line_number: number;
}

interface Scored extends Passage {
  readonly score: number;
}

interface Read {
  readonly row: FileRow;
  readonly passages: Passage[];
}

const PASSAGE_CHARS = 500;
const DEFAULT_TOP_K = 8;
const MAX_HITS = 100;
const MAX_EMBEDDED_NOW = 300;
const MAX_KEPT = 5_000;
const BATCH = 32;

export async function search(
  files: ProjectFiles,
  args: Readonly<Record<string, unknown>>,
  embedder: Embedder | null,
): Promise<Content> {
  const query = typeof args["query"] === "string" ? args["query"] : "";
  const top = Math.min(typeof args["top_k"] === "number" ? args["top_k"] : DEFAULT_TOP_K, MAX_HITS);
  const all = await readAll(files);
  const byWords = all.flatMap((read) => scoreByWords(read.passages, query));
  const scored = embedder ? await scoreByMeaning(files, all, byWords, query, embedder) : byWords;
  const hits = scored.sort((one, other) => other.score - one.score).slice(0, top);
  return { hits: hits.map((hit) => ({ ...hit, file_id: hit.path })), by: embedder ? "meaning" : "words" };
}

/** Paragraphs; long ones are cut where a sentence or a word ends. */
export function passagesOf(path: string, text: string): Passage[] {
  const passages: Passage[] = [];
  let line = 1;
  for (const paragraph of text.split("\n\n")) {
    let start = 0;
    while (start < paragraph.length) {
      const end = cutAt(paragraph, start);
      const piece = paragraph.slice(start, end);
      if (piece.trim()) passages.push({ path, text: piece, line_number: line + linesIn(paragraph.slice(0, start)) });
      start = end;
    }
    line += linesIn(paragraph) + 2;
  }
  return passages;
}

function cutAt(text: string, start: number): number {
  if (text.length - start <= PASSAGE_CHARS) return text.length;
  const window = text.slice(start, start + PASSAGE_CHARS);
  const sentence = Math.max(...[". ", "! ", "? ", "\n"].map((end) => window.lastIndexOf(end) + end.length));
  const word = window.lastIndexOf(" ") + 1;
  const cut = sentence > PASSAGE_CHARS / 2 ? sentence : word > PASSAGE_CHARS / 2 ? word : PASSAGE_CHARS;
  return start + cut;
}

function linesIn(text: string): number {
  return text.split("\n").length - 1;
}

async function readAll(files: ProjectFiles): Promise<Read[]> {
  const read: Read[] = [];
  for await (const { row, text } of files.texts(await files.list()))
    read.push({ row, passages: passagesOf(row.path, text) });
  return read;
}

function scoreByWords(passages: readonly Passage[], query: string): Scored[] {
  const wanted = wordsOf(query);
  const score = (passage: Passage) => {
    const there = wordsOf(passage.text);
    return [...wanted].filter((word) => there.has(word)).length / Math.max(1, wanted.size);
  };
  return passages.map((passage) => ({ ...passage, score: score(passage) })).filter((passage) => passage.score > 0);
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().split(/\s+/).filter(Boolean));
}

async function scoreByMeaning(
  files: ProjectFiles,
  all: readonly Read[],
  byWords: readonly Scored[],
  query: string,
  embedder: Embedder,
): Promise<Scored[]> {
  const best = new Map<string, number>();
  for (const { path, score } of byWords) best.set(path, Math.max(score, best.get(path) ?? 0));
  const promising = [...all].sort((one, other) => (best.get(other.row.path) ?? 0) - (best.get(one.row.path) ?? 0));
  const [asked] = await embedder.embed([query]);
  const scored: Scored[] = [];
  let room = MAX_EMBEDDED_NOW;
  for (const { row, passages } of promising) {
    const vectors = await vectorsOf(files, row, passages, embedder, room);
    if (!vectors) continue;
    if (vectors.fresh) room -= passages.length;
    passages.forEach((passage, at) => scored.push({ ...passage, score: dot(asked!, vectors.of(at)) }));
  }
  await sweep(files, all);
  return scored;
}

/** Null: there is no more time for it now. */
async function vectorsOf(
  files: ProjectFiles,
  row: FileRow,
  passages: readonly Passage[],
  embedder: Embedder,
  room: number,
) {
  const key = `${embedder.id} ${row.hash}`;
  const known = await files.device.read("file_vectors", (stores) => stores.file_vectors.get(key));
  const fits = known?.count === passages.length;
  if (!fits && passages.length > room) return null;
  const vectors = fits ? known.vectors : await embedAll(passages, embedder);
  if (!fits) {
    await files.device.write("file_vectors", (stores) =>
      stores.file_vectors.put({ key, hash: row.hash, count: passages.length, vectors }),
    );
  }
  const width = vectors.length / Math.max(1, passages.length);
  return { fresh: !fits, of: (at: number) => vectors.subarray(at * width, (at + 1) * width) };
}

async function embedAll(passages: readonly Passage[], embedder: Embedder): Promise<Float32Array> {
  const found: Float32Array[] = [];
  for (let at = 0; at < passages.length; at += BATCH) {
    found.push(...(await embedder.embed(passages.slice(at, at + BATCH).map((passage) => passage.text))));
  }
  const joined = new Float32Array(found.reduce((sum, each) => sum + each.length, 0));
  let place = 0;
  for (const each of found) {
    joined.set(each, place);
    place += each.length;
  }
  return joined;
}

/** Forgets vectors of texts that are nowhere any more, once there are many. */
async function sweep(files: ProjectFiles, all: readonly Read[]): Promise<void> {
  const used = new Set(all.map((read) => read.row.hash));
  await files.device.write("file_vectors", async (stores) => {
    if ((await stores.file_vectors.count()) <= MAX_KEPT) return;
    const gone: string[] = [];
    await stores.file_vectors.each((row) => void (used.has(row.hash) || gone.push(row.key)));
    for (const key of gone) await stores.file_vectors.delete(key);
  });
}

function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += one[at]! * other[at]!;
  return sum;
}
