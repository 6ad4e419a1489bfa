/**
 * BLAKE2b (RFC 7693), unkeyed, as the server names the content of a file (`base_version` of an approval: 12 bytes, in hex). Browsers have
 * no such digest of their own. 64-bit words are pairs of 32-bit ones, low first.
 */

const IV = Uint32Array.of(
  0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
  0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
);
const ORDER = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4], [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13], [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11], [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5], [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
/** The columns and diagonals that are mixed in a round. */
const MIXED = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];
const BLOCK = 128;

export function blake2b(data: Uint8Array, digestBytes: number): string {
  const state = IV.slice();
  state[0] = state[0]! ^ 0x01010000 ^ digestBytes;
  const words = new Uint32Array(32);
  const block = new DataView(new ArrayBuffer(BLOCK));
  const bytes = new Uint8Array(block.buffer);
  for (let start = 0; start === 0 || start < data.length; start += BLOCK) {
    const piece = data.subarray(start, start + BLOCK);
    bytes.fill(0).set(piece);
    for (let at = 0; at < 32; at++) words[at] = block.getUint32(4 * at, true);
    compress(state, words, start + piece.length, start + BLOCK >= data.length);
  }
  const digest = new Uint8Array(state.length * 4);
  const view = new DataView(digest.buffer);
  state.forEach((word, at) => view.setUint32(4 * at, word, true));
  return Array.from(digest.subarray(0, digestBytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function compress(state: Uint32Array, words: Uint32Array, count: number, last: boolean): void {
  const v = new Uint32Array(32);
  v.set(state);
  v.set(IV, 16);
  v[24] = v[24]! ^ (count >>> 0);
  v[25] = v[25]! ^ Math.floor(count / 2 ** 32);
  if (last) [v[28], v[29]] = [~v[28]!, ~v[29]!];
  for (let round = 0; round < 12; round++) {
    const order = ORDER[round % 10]!;
    MIXED.forEach(([a, b, c, d], at) => {
      half(v, a!, b!, c!, d!, words, order[2 * at]!, 32, 24);
      half(v, a!, b!, c!, d!, words, order[2 * at + 1]!, 16, 63);
    });
  }
  for (let at = 0; at < 16; at++) state[at] = state[at]! ^ v[at]! ^ v[at + 16]!;
}

/** a += b + word; d = (d ^ a) >>> one; c += d; b = (b ^ c) >>> two */
function half(v: Uint32Array, a: number, b: number, c: number, d: number, words: Uint32Array, word: number, one: number, two: number): void {
  add(v, a, v[2 * b]!, v[2 * b + 1]!);
  add(v, a, words[2 * word]!, words[2 * word + 1]!);
  turn(v, d, a, one);
  add(v, c, v[2 * d]!, v[2 * d + 1]!);
  turn(v, b, c, two);
}

function add(v: Uint32Array, at: number, low: number, high: number): void {
  const sum = v[2 * at]! + low;
  v[2 * at] = sum;
  v[2 * at + 1] = v[2 * at + 1]! + high + (sum > 0xffffffff ? 1 : 0);
}

/** v[at] ^ v[other], turned to the right by so many bits. */
function turn(v: Uint32Array, at: number, other: number, bits: number): void {
  let low = v[2 * at]! ^ v[2 * other]!;
  let high = v[2 * at + 1]! ^ v[2 * other + 1]!;
  if (bits >= 32) [low, high] = [high, low];
  const by = bits % 32;
  v[2 * at] = by ? (low >>> by) | (high << (32 - by)) : low;
  v[2 * at + 1] = by ? (high >>> by) | (low << (32 - by)) : high;
}
