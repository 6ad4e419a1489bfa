// Which passages fit a question. Two rankings, each of which misses what the other finds: by meaning (the product of vectors of length 1),
// and by the words that they share (BM25). They are put together by rank, since their scores cannot be compared. Pure; runs in a worker.
//
//   by meaning  ┐
//               ├> 1 / (RANK + place) summed -> near-duplicates once -> no document crowds out the others -> the best
//   by words    ┘
//
// A passage whose vector is not made yet is found by its words.

import type { Chunk } from "../device/database";

export type Found = "meaning" | "words" | "both";

export interface Hit {
  readonly chunk: Chunk;
  readonly score: number;
  readonly by: Found;
}

export interface Breadth {
  readonly passages: number;
  readonly characters: number;
  /** Below this two texts of MiniLM's have nothing to do with one another. */
  readonly leastAlike: number;
  /** The share of a question's words, weighed by how rare they are, that a passage has to have. */
  readonly leastShared: number;
}

/** What goes along beside a search of the web. */
export const NARROW: Breadth = { passages: 8, characters: 24_000, leastAlike: 0.25, leastShared: 0.2 };
/** Where the documents are all there is to answer from. */
export const WIDE: Breadth = { passages: 40, characters: 24_000, leastAlike: 0.15, leastShared: 0.1 };

/** How quickly a lower place counts less: one way's first place weighs as much as both ways' twenty-second. */
const RANK = 20;
/** The deepest place that counts. */
const DEEPEST = 200;
/** Two passages that share this much of their words say the same; if their numbers differ they do not, nor if they are as short as rows. */
const NEARLY_THE_SAME = 0.95;
const SHORT_WORDS = 20;

/** Vectors in one piece of memory, so that ten thousand are compared in a few milliseconds. */
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
      for (let at = 0, place = row * this.size; at < this.size; at++, place++)
        sum += this.numbers[place]! * question[at]!;
      found[row] = sum;
    }
    return found;
  }
}

/** BM25 over the words of texts. The end of a word says little: "wells" is found for "well", and "cracks" for "cracked". */
export class WordIndex {
  private readonly vocabulary: string[];

  private constructor(
    /** Word -> rows and how often it stands there, in turn. */
    private readonly postings: ReadonlyMap<string, readonly number[]>,
    private readonly lengths: readonly number[],
  ) {
    this.vocabulary = [...postings.keys()].sort();
  }

  static of(texts: readonly string[]): WordIndex {
    const postings = new Map<string, number[]>();
    const lengths = texts.map((text, row) => {
      const words = tokensOf(text);
      for (const word of words) {
        const rows = postings.get(word);
        if (!rows) postings.set(word, [row, 1]);
        else if (rows[rows.length - 2] === row) rows[rows.length - 1]! += 1;
        else rows.push(row, 1);
      }
      return words.length;
    });
    return new WordIndex(postings, lengths);
  }

  /** Row -> its score, and the share of the question's words that it has. */
  scores(question: string): Map<number, { score: number; share: number }> {
    const [rows, found] = [this.lengths.length, new Map<number, { score: number; share: number }>()];
    const mean = this.lengths.reduce((sum, length) => sum + length, 0) / (rows || 1);
    const words = [
      ...new Set(tokensOf(question).filter((word) => (word.length > 1 || isNumber(word)) && !COMMON.has(word))),
    ].slice(0, 64);
    const counted = words.map((word) => this.countsOf(word));
    const weights = counted.map((counts) => Math.log(1 + (rows - counts.size + 0.5) / (counts.size + 0.5)));
    // A word that no text has says nothing about which of them fits best.
    const whole = weights.reduce((sum, weight, n) => sum + (counted[n]!.size ? weight : weight / 2), 0) || 1;
    counted.forEach((counts, n) => {
      for (const [row, count] of counts) {
        const before = found.get(row) ?? { score: 0, share: 0 };
        const saturated = (count * 2.2) / (count + 1.2 * (0.25 + (0.75 * this.lengths[row]!) / mean));
        found.set(row, { score: before.score + weights[n]! * saturated, share: before.share + weights[n]! / whole });
      }
    });
    return found;
  }

  private countsOf(word: string): Map<number, number> {
    const counts = new Map<number, number>();
    for (const form of this.formsOf(word)) {
      const rows = this.postings.get(form)!;
      for (let at = 0; at < rows.length; at += 2) counts.set(rows[at]!, (counts.get(rows[at]!) ?? 0) + rows[at + 1]!);
    }
    return counts;
  }

  private formsOf(word: string): string[] {
    if (word.length < 4 || isNumber(word)) return this.postings.has(word) ? [word] : [];
    const stem = stemOf(word);
    const forms: string[] = [];
    for (let at = firstFrom(this.vocabulary, stem); this.vocabulary[at]?.startsWith(stem); at++)
      if (this.vocabulary[at]!.length <= stem.length + 3) forms.push(this.vocabulary[at]!);
    return forms;
  }
}

export interface Shelf {
  readonly chunks: readonly Chunk[];
  readonly words: WordIndex;
  /** The chunk of each row of the table. */
  readonly rows: readonly number[];
  readonly table: VectorTable;
}

/** Best first. `addressOf`: of a passage that is nothing but an address. */
export function retrieve(
  shelf: Shelf,
  question: string,
  vector: Float32Array | null,
  addressOf: (chunk: Chunk) => string | undefined,
  breadth: Breadth = NARROW,
): Hit[] {
  const scores = vector ? shelf.table.scores(vector) : [];
  const meant = rank(
    [...scores]
      .map((score, row) => [shelf.rows[row]!, score] as const)
      .filter(([, score]) => score >= breadth.leastAlike),
  );
  const said = rank(
    [...shelf.words.scores(question)]
      .filter(([, { share }]) => share >= breadth.leastShared)
      .map(([chunk, { score }]) => [chunk, score] as const),
  );
  const fused = new Map<number, Hit>();
  for (const [by, ranked] of [
    ["meaning", meant],
    ["words", said],
  ] as const)
    ranked.forEach((chunk, place) => {
      const before = fused.get(chunk);
      fused.set(chunk, {
        chunk: shelf.chunks[chunk]!,
        score: (before?.score ?? 0) + 1 / (RANK + place + 1),
        by: before ? "both" : by,
      });
    });
  return choose(
    [...fused.values()].sort((one, two) => two.score - one.score),
    addressOf,
    breadth,
  );
}

const rank = (scored: (readonly [number, number])[]): number[] =>
  scored
    .sort((one, two) => two[1] - one[1])
    .slice(0, DEEPEST)
    .map(([chunk]) => chunk);

/** The same text and the same address once. One document fills at most half of the places, as long as others have something. */
function choose(sorted: readonly Hit[], addressOf: (chunk: Chunk) => string | undefined, breadth: Breadth): Hit[] {
  const chosen = new Map<Hit, Set<string>>();
  const addresses = new Set<string>();
  const counts = new Map<string, number>();
  let characters = 0;
  const take = (most: number) => {
    for (const hit of sorted) {
      const [of, address] = [counts.get(hit.chunk.document_id) ?? 0, addressOf(hit.chunk)];
      if (chosen.size >= breadth.passages) return;
      if (chosen.has(hit) || of >= most || characters + hit.chunk.text.length > breadth.characters) continue;
      const words = new Set(tokensOf(hit.chunk.text));
      if ((address && addresses.has(address)) || [...chosen.values()].some((other) => isNearlyTheSame(words, other)))
        continue;
      chosen.set(hit, words);
      if (address) addresses.add(address);
      counts.set(hit.chunk.document_id, of + 1);
      characters += hit.chunk.text.length;
    }
  };
  take(Math.ceil(breadth.passages / 2));
  take(breadth.passages);
  return [...chosen.keys()].sort((one, two) => two.score - one.score);
}

function isNearlyTheSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  const alike = Math.min(one.size, other.size) < SHORT_WORDS ? 1 : NEARLY_THE_SAME;
  const lacking = [...one].filter((word) => !other.has(word));
  const shared = one.size - lacking.length;
  const more = [...other].filter((word) => !one.has(word));
  return shared >= alike * (shared + lacking.length + more.length) && ![...lacking, ...more].some(isNumber);
}

/** Without case and accents. */
export function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase();
}

const COMMON = new Set(
  "a an and are as at be but by can did do does for from had has have how if in into is it its of on or our not no so than that the their them then there they this those to was we were what when where which who why will with would you your der die das und ist ein eine von den dem mit le la les et de des un une".split(
    " ",
  ),
);
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Words and numbers; where a script has no spaces, each two characters. */
function tokensOf(text: string): string[] {
  const folded = fold(text);
  const runs = folded.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  if (!UNSPACED.test(folded)) return runs;
  return runs.flatMap((run) => {
    if (!UNSPACED.test(run)) return run;
    const signs = [...run];
    return signs.length < 2 ? run : signs.slice(1).map((sign, n) => signs[n]! + sign);
  });
}

const isNumber = (word: string): boolean => /\d/.test(word);

function stemOf(word: string): string {
  const stem = word.replace(/(?:ing|ed|es|en|er|s|e|n)$/, "");
  return stem.length >= 4 ? stem : word;
}

function firstFrom(sorted: readonly string[], word: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < word) low = middle + 1;
    else high = middle;
  }
  return low;
}
