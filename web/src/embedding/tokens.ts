// Which tokens of a text the network reads: the first 256, [CLS] and [SEP] counted, and a text that is cut keeps its [SEP]. The tokenizer of
// the browser neither cuts nor pads, so it is done here, as Python does it.

/** Enough of a text for 256 tokens, nearly always; a whole megabyte takes seconds. */
const FIRST_CHARACTERS = 8_192;
/** A word that is cut in two at the end of the start gives no more tokens than this: longer words are unknown to the tokenizer. */
const LONGEST_WORD = 100;

export function tokenIds(encode: (text: string) => number[], text: string, maxTokens: number): number[] {
  const whole = text.replace(/\p{Surrogate}/gu, "\ufffd"); // half a character cannot be tokenized
  const start = encode(whole.slice(0, FIRST_CHARACTERS));
  return whole.length <= FIRST_CHARACTERS || start.length > maxTokens + LONGEST_WORD ? start : encode(whole);
}

export function cutTokens(ids: number[], maxTokens: number): number[] {
  return ids.length <= maxTokens ? ids : [...ids.slice(0, maxTokens - 1), ids.at(-1)!];
}
