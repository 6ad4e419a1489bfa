// Which passages fit a question: by meaning (the product of vectors of length 1) where a passage has a vector of the embedder at work, by the
// words they share otherwise. Each result says which. Pure; runs in a worker.

import type { Chunk } from "../device/database";

export type Found = "meaning" | "words";

export interface Hit {
  readonly chunk: Chunk;
  /** Only comparable with others that were found in the same way. */
  readonly score: number;
  readonly by: Found;
}

export const TOP = 8;
/** Below this two texts of MiniLM's have nothing to do with one another. */
const LEAST_ALIKE = 0.25;
/** The share of a question's words, weighed by how rare they are, that a passage has to have. */
const LEAST_SHARED = 0.2;

/** Vectors in one piece of memory, so that two thousand are compared in a millisecond. */
export class VectorTable {
  private constructor(
    private readonly numbers: Float32Array,
    private readonly size: number,
  ) {}

  static of(vectors: readonly Float32Array[]): VectorTable {
    const size = vectors[0]?.length ?? 0;
    const numbers = new Float32Array(size * vectors.length);
    vectors.forEach((vector, row) => numbers.set(vector, row * size));
    return new VectorTable(numbers, size);
  }

  scores(question: Float32Array): Float64Array {
    const rows = this.size ? this.numbers.length / this.size : 0;
    const found = new Float64Array(rows);
    for (let row = 0; row < rows; row++) {
      let sum = 0;
      for (let at = 0, place = row * this.size; at < this.size; at++, place++) sum += this.numbers[place]! * question[at]!;
      found[row] = sum;
    }
    return found;
  }
}

export function byMeaning(question: Float32Array, chunks: readonly Chunk[], table: VectorTable): Hit[] {
  const scores = table.scores(question);
  return chunks.map((chunk, row) => ({ chunk, score: scores[row]!, by: "meaning" as const })).filter((hit) => hit.score >= LEAST_ALIKE);
}

/** `folded` are the chunks' texts through `fold`. */
export function byWords(question: string, chunks: readonly Chunk[], folded: readonly string[]): Hit[] {
  const words = [...new Set(wordsOf(question))];
  if (!words.length) return [];
  const has = words.map((word) => folded.map((text) => startsWordIn(text, word)));
  const weights = has.map((rows) => Math.log(1 + chunks.length / (1 + rows.filter(Boolean).length)));
  const whole = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  return chunks
    .map((chunk, row) => ({ chunk, score: weights.reduce((sum, weight, word) => sum + (has[word]![row] ? weight : 0), 0) / whole, by: "words" as const }))
    .filter((hit) => hit.score >= LEAST_SHARED);
}

/** Best first, the same text and the same address once. Where both ways found some they take turns: their scores cannot be compared. */
export function choose(ways: readonly Hit[][], addressOf: (chunk: Chunk) => string | undefined, top = TOP): Hit[] {
  const sorted = ways.map((hits) => hits.toSorted((one, two) => two.score - one.score));
  const seen = new Set<string>();
  const chosen: Hit[] = [];
  const isNew = (hit: Hit) => {
    const marks = [fold(hit.chunk.text).replace(/\s+/g, " "), addressOf(hit.chunk)].filter((mark) => mark !== undefined);
    const fresh = marks.every((mark) => !seen.has(mark));
    marks.forEach((mark) => seen.add(mark));
    return fresh;
  };
  for (let rank = 0; chosen.length < top && sorted.some((hits) => rank < hits.length); rank++)
    for (const hits of sorted) if (rank < hits.length && chosen.length < top && isNew(hits[rank]!)) chosen.push(hits[rank]!);
  return chosen;
}

/** Without case and accents. */
export function fold(text: string): string {
  return text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
}

const COMMON = new Set(
  "a an and are as at be but by can did do does for from had has have how if in into is it its of on or our not no so than that the their them then there they this those to was we were what when where which who why will with would you your der die das und ist ein eine von den dem mit le la les et de des un une".split(" "),
);

function wordsOf(question: string): string[] {
  return (fold(question).match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length > 1 && !COMMON.has(word)).slice(0, 64);
}

/** Also "wells" for "well": the end of a word says little. */
function startsWordIn(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]!)) return true;
  return false;
}
