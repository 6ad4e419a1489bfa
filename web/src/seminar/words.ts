/** What changed between two wordings of one sentence, word by word. */

export interface Piece {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

const MOST_WORDS = 1_000;

export function diffWords(before: string, after: string): Piece[] {
  const [old, fresh] = [wordsOf(before), wordsOf(after)];
  // A thesis is a sentence. What is longer than any is shown as replaced, instead of taking time with its square.
  const common = old.length > MOST_WORDS || fresh.length > MOST_WORDS ? [] : longestCommon(old, fresh);
  const pieces: Piece[] = [];
  let [at, there] = [0, 0];
  for (const [i, j] of [...common, [old.length, fresh.length] as const]) {
    push(pieces, "-", old.slice(at, i));
    push(pieces, "+", fresh.slice(there, j));
    if (i < old.length) push(pieces, " ", [old[i]!]);
    [at, there] = [i + 1, j + 1];
  }
  return pieces;
}

function push(pieces: Piece[], sign: Piece["sign"], words: readonly string[]): void {
  if (!words.length) return;
  const last = pieces.at(-1);
  if (last?.sign === sign) pieces[pieces.length - 1] = { sign, text: `${last.text} ${words.join(" ")}` };
  else pieces.push({ sign, text: words.join(" ") });
}

function longestCommon(one: string[], two: string[]): [number, number][] {
  const width = two.length + 1;
  const lengths = new Uint16Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i--)
    for (let j = two.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        one[i] === two[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < one.length && j < two.length;)
    if (one[i] === two[j]) pairs.push([i++, j++]);
    else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i++;
    else j++;
  return pairs;
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}
