// Reads a zip file from its table of contents, entry by entry, without ever holding more than one piece of it.
//
// What a hostile archive could do is refused with a sentence: names that lead elsewhere, links, encryption, entries that share their bytes
// (one megabyte that unpacks to terabytes), and more files or bytes than an import may have. Sizes in the table are never believed: what
// comes out is counted while it comes out. The table is the zip's end (APPNOTE 4.3.12 to 4.3.16), 64-bit forms included.

import { Inflate } from "fflate";
import { bytes, plural } from "../lib/words";
import { LIMITS } from "./limits";

export class ArchiveError extends Error {
  override name = "ArchiveError";
}

export interface ArchiveEntry {
  readonly name: string;
  readonly size: number;
  readonly modifiedAt: Date;
  readonly at: number;
  readonly packed: number;
  readonly method: number;
  readonly crc: number;
}

const END = 0x06054b50;
const END_64 = 0x06064b50;
const END_64_PLACE = 0x07064b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const END_SIZE = 22;
const PIECE = 256 * 1024;
const STRETCH = 1024 * 1024;
/** Deflate packs text about 1:4 and never better than 1:1032; a large entry above this is made to be unpacked. */
const MOST_RATIO = 300;
const RATIO_COUNTS_FROM = 4_000_000;

const STORED = 0;
const DEFLATED = 8;

/** A file that is read from its beginning to its end in small steps: each look fetches a stretch, and most are in the last one. */
export class Stretches {
  private held = new Uint8Array();
  private from = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly file: Blob) {}

  get size(): number {
    return this.file.size;
  }

  /** One look after the other, so that several who read side by side share a stretch. */
  read(at: number, size: number): Promise<Uint8Array<ArrayBuffer>> {
    const look = this.last.then(() => this.look(at, size));
    this.last = look.catch(() => undefined); // Whoever asked for it is told; the next one looks for itself.
    return look;
  }

  private async look(at: number, size: number): Promise<Uint8Array<ArrayBuffer>> {
    if (at < 0 || size < 0 || at + size > this.size) throw broken("it points behind its end");
    if (at < this.from || at + size > this.from + this.held.length) {
      this.held = new Uint8Array(await this.file.slice(at, at + Math.max(size, STRETCH)).arrayBuffer());
      this.from = at;
    }
    return this.held.subarray(at - this.from, at - this.from + size);
  }
}

/** The files of an archive, folders left out. Throws `ArchiveError` for one that cannot or must not be read. */
export async function readArchive(zip: Stretches): Promise<ArchiveEntry[]> {
  const table = await findTable(zip);
  if (table.count > LIMITS.files + 10_000) throw tooMany(table.count);
  const view = await viewOf(zip, table.at, table.size);
  const entries: ArchiveEntry[] = [];
  let at = 0;
  for (let n = 0; n < table.count; n++) {
    const { entry, next } = readEntry(view, at);
    if (entry) entries.push(entry);
    at = next;
  }
  refuseSharedBytes(entries, table.at);
  const total = entries.reduce((sum, entry) => sum + entry.size, 0);
  if (entries.length > LIMITS.files) throw tooMany(entries.length);
  if (total > LIMITS.total) throw tooMuch();
  return entries;
}

const tooMany = (count: number) =>
  new ArchiveError(
    `This archive has ${plural(count, "file")}. At most ${LIMITS.files.toLocaleString("en")} can be imported at once.`,
  );
const tooMuch = () =>
  new ArchiveError(
    `This archive unpacks to more than ${bytes(LIMITS.total)}, which is the most for one import. Nothing was imported.`,
  );
const broken = (what: string) => new ArchiveError(`This is no complete zip file (${what}). Nothing was imported.`);

async function viewOf(zip: Stretches, at: number, size: number): Promise<DataView> {
  const bytes = await zip.read(at, size);
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

async function findTable(zip: Stretches): Promise<{ at: number; size: number; count: number }> {
  const start = Math.max(0, zip.size - END_SIZE - 0xffff);
  const tail = await viewOf(zip, start, zip.size - start);
  let end = tail.byteLength - END_SIZE;
  while (end >= 0 && tail.getUint32(end, true) !== END) end--;
  if (end < 0) throw broken("its table of contents is missing");
  const table = {
    count: tail.getUint16(end + 10, true),
    size: tail.getUint32(end + 12, true),
    at: tail.getUint32(end + 16, true),
  };
  const is64 = table.count === 0xffff || table.size === 0xffffffff || table.at === 0xffffffff;
  if (!is64 || end < 20 || tail.getUint32(end - 20, true) !== END_64_PLACE) return table;
  const large = await viewOf(zip, Number(tail.getBigUint64(end - 12, true)), 56);
  if (large.getUint32(0, true) !== END_64) throw broken("its table of contents is missing");
  return {
    count: Number(large.getBigUint64(32, true)),
    size: Number(large.getBigUint64(40, true)),
    at: Number(large.getBigUint64(48, true)),
  };
}

function readEntry(view: DataView, at: number): { entry: ArchiveEntry | null; next: number } {
  if (at + 46 > view.byteLength || view.getUint32(at, true) !== ENTRY) throw broken("its table of contents is damaged");
  const flags = view.getUint16(at + 8, true);
  const nameLength = view.getUint16(at + 28, true);
  const extraLength = view.getUint16(at + 30, true);
  const next = at + 46 + nameLength + extraLength + view.getUint16(at + 32, true);
  if (next > view.byteLength) throw broken("its table of contents is damaged");
  const name = readName(new Uint8Array(view.buffer, view.byteOffset + at + 46, nameLength), flags);
  const sizes = readSizes(view, at, at + 46 + nameLength, extraLength);
  if (name.endsWith("/") || name.endsWith("\\")) return { entry: null, next };
  if (flags & 0x1)
    throw new ArchiveError(`“${name}” is encrypted. Unpack the archive with its password and import the folder.`);
  // The upper half holds the Unix mode where Unix made the entry; 0o120000 is a symbolic link.
  if (view.getUint8(at + 5) === 3 && ((view.getUint32(at + 38, true) >>> 16) & 0o170000) === 0o120000)
    throw new ArchiveError(`“${name}” is a link to another place. An archive with links is not imported.`);
  const method = view.getUint16(at + 10, true);
  if (method !== STORED && method !== DEFLATED)
    throw new ArchiveError(
      `“${name}” is packed in a way that this page cannot read (method ${method}). Pack the folder again as an ordinary zip.`,
    );
  return {
    entry: {
      name,
      ...sizes,
      method,
      crc: view.getUint32(at + 16, true),
      modifiedAt: readTime(view.getUint32(at + 12, true)),
    },
    next,
  };
}

function readName(raw: Uint8Array, flags: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(raw);
  } catch (error) {
    if (flags & 0x800)
      throw new ArchiveError("A name in this archive is not valid text. Pack the folder again.", { cause: error });
    return new TextDecoder("windows-1252").decode(raw);
  }
}

function readSizes(
  view: DataView,
  at: number,
  extra: number,
  extraLength: number,
): { packed: number; size: number; at: number } {
  const read = {
    packed: view.getUint32(at + 20, true),
    size: view.getUint32(at + 24, true),
    at: view.getUint32(at + 42, true),
  };
  for (let place = extra; place + 4 <= extra + extraLength; place += 4 + view.getUint16(place + 2, true)) {
    if (view.getUint16(place, true) !== 1) continue;
    let field = place + 4;
    for (const key of ["size", "packed", "at"] as const) {
      if (read[key] !== 0xffffffff) continue;
      if (field + 8 > extra + extraLength) throw broken("a size is missing");
      read[key] = Number(view.getBigUint64(field, true));
      field += 8;
    }
  }
  return read;
}

/** MS-DOS: local time, two seconds exact, from 1980. */
function readTime(dos: number): Date {
  const [date, time] = [dos >>> 16, dos & 0xffff];
  return new Date(
    1980 + (date >>> 9),
    ((date >>> 5) & 15) - 1,
    date & 31,
    time >>> 11,
    (time >>> 5) & 63,
    (time & 31) * 2,
  );
}

/** Many entries over the same bytes are how a small archive becomes an endless one. */
function refuseSharedBytes(entries: readonly ArchiveEntry[], tableAt: number): void {
  const inOrder = [...entries].sort((one, two) => one.at - two.at);
  inOrder.forEach((entry, n) => {
    const next = inOrder[n + 1]?.at ?? tableAt;
    if (entry.at + 30 + entry.packed > next)
      throw new ArchiveError("Parts of this archive overlap, as in a zip bomb. Nothing was imported.");
  });
}

/** The bytes of one entry, piece by piece, checked against its size and checksum. */
export async function* unpack(zip: Stretches, entry: ArchiveEntry): AsyncGenerator<Uint8Array> {
  const local = await viewOf(zip, entry.at, 30);
  if (local.getUint32(0, true) !== LOCAL) throw broken(`“${entry.name}” is not where the table says`);
  const start = entry.at + 30 + local.getUint16(26, true) + local.getUint16(28, true);
  if (start + entry.packed > zip.size) throw broken(`“${entry.name}” is cut off`);
  const [sum, count] = [new Checksum(), new Counter(entry)];
  for await (const piece of inflated(zip, start, entry)) {
    count.add(piece.length);
    sum.add(piece);
    yield piece;
  }
  if (count.total !== entry.size || sum.value !== entry.crc) throw broken(`“${entry.name}” is damaged`);
}

async function* inflated(zip: Stretches, start: number, entry: ArchiveEntry): AsyncGenerator<Uint8Array> {
  let out: Uint8Array[] = [];
  const inflate = new Inflate((piece) => void out.push(piece));
  for (let at = 0; at < entry.packed || at === 0; at += PIECE) {
    const piece = await zip.read(start + at, Math.min(PIECE, entry.packed - at));
    if (entry.method === STORED) out.push(piece.slice());
    else inflateInto(inflate, piece, at + PIECE >= entry.packed, entry);
    yield* out;
    out = [];
  }
}

function inflateInto(inflate: Inflate, piece: Uint8Array, isLast: boolean, entry: ArchiveEntry): void {
  try {
    inflate.push(piece, isLast);
  } catch (error) {
    throw new ArchiveError(`“${entry.name}” in this archive is damaged. Nothing was imported.`, { cause: error });
  }
}

/** Counts what comes out, whatever the table said. */
class Counter {
  total = 0;
  constructor(private readonly entry: ArchiveEntry) {}

  add(length: number): void {
    this.total += length;
    if (this.total > this.entry.size) throw broken(`“${this.entry.name}” is longer than the table says`);
    if (this.total > RATIO_COUNTS_FROM && this.total > this.entry.packed * MOST_RATIO)
      throw new ArchiveError(
        `“${this.entry.name}” unpacks to more than ${MOST_RATIO} times its size, as in a zip bomb. Nothing was imported.`,
      );
  }
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

class Checksum {
  private crc = ~0;
  add(piece: Uint8Array): void {
    let crc = this.crc;
    for (let at = 0; at < piece.length; at++) crc = CRC_TABLE[(crc ^ piece[at]!) & 255]! ^ (crc >>> 8);
    this.crc = crc;
  }
  get value(): number {
    return ~this.crc >>> 0;
  }
}
