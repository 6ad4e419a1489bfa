import { strToU8, zipSync, type Zippable } from "fflate";
import { describe, expect, test } from "vitest";
import { ArchiveError, readArchive as readTable, Stretches, unpack as unpackFrom, type ArchiveEntry } from "./archive";

const readArchive = (zip: Blob) => readTable(new Stretches(zip));
const unpack = (zip: Blob, entry: ArchiveEntry) => unpackFrom(new Stretches(zip), entry);
const pack = (files: Zippable) => new Blob([zipSync(files) as Uint8Array<ArrayBuffer>]);

async function readAll(zip: Blob): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readArchive(zip)) {
    const decoder = new TextDecoder();
    found[entry.name] = "";
    for await (const piece of unpack(zip, entry)) found[entry.name] += decoder.decode(piece, { stream: true });
  }
  return found;
}

/** Changes bytes of the archive's table of contents, at an offset within its first entry. */
async function tamper(zip: Blob, at: number, ...values: number[]): Promise<Blob> {
  const raw = new Uint8Array(await zip.arrayBuffer());
  const table = raw.findIndex((_, n) => raw[n] === 0x50 && raw[n + 1] === 0x4b && raw[n + 2] === 1 && raw[n + 3] === 2);
  raw.set(values, table + at);
  return new Blob([raw]);
}

describe("an archive", () => {
  test("gives its files, packed or stored, with any name", async () => {
    const long = "line of text\n".repeat(100_000);
    const files = {
      "notes/ä.md": strToU8("hello"),
      folder: { "b.txt": [strToU8(long), { level: 0 }], "c.txt": strToU8(long) },
      empty: new Uint8Array(),
    } satisfies Zippable;
    expect(await readAll(pack(files))).toEqual({
      "notes/ä.md": "hello",
      "folder/b.txt": long,
      "folder/c.txt": long,
      empty: "",
    });
  });

  test("that is none, or is cut off, is refused with a sentence", async () => {
    await expect(readArchive(new Blob(["no zip at all"]))).rejects.toThrow("no complete zip file");
    await expect(readArchive(new Blob([]))).rejects.toThrow(ArchiveError);
    const whole = pack({ "a.txt": strToU8("a".repeat(1_000)), "b.txt": strToU8("b") });
    await expect(readArchive(whole.slice(0, whole.size - 30))).rejects.toThrow(ArchiveError);
    await expect(readArchive(whole.slice(20))).rejects.toThrow(ArchiveError);
  });

  test("with a damaged entry is refused", async () => {
    const zip = await tamper(pack({ "a.txt": strToU8("hello hello hello") }), 16, 1, 2, 3, 4);
    await expect(readAll(zip)).rejects.toThrow("damaged");
  });

  test("with a link is refused", async () => {
    const zip = pack({ link: [strToU8("/etc/passwd"), { os: 3, attrs: 0o120777 << 16 }] });
    await expect(readArchive(zip)).rejects.toThrow("is a link");
  });

  test("with a password is refused", async () => {
    await expect(readArchive(await tamper(pack({ a: strToU8("a") }), 8, 1))).rejects.toThrow("encrypted");
  });

  test("that unpacks to hundreds of times its size is refused while it does", async () => {
    const zip = pack({ bomb: [new Uint8Array(9_000_000), { level: 6 }] });
    expect(zip.size).toBeLessThan(100_000);
    let unpacked = 0;
    const reading = async () => {
      for (const entry of await readArchive(zip))
        for await (const piece of unpack(zip, entry)) unpacked += piece.length;
    };
    await expect(reading()).rejects.toThrow("zip bomb");
    expect(unpacked).toBeLessThan(9_000_000);
  });

  test("that says it is small and is not is refused", async () => {
    const zip = await tamper(pack({ a: strToU8("a".repeat(5_000)) }), 24, 10, 0, 0, 0);
    await expect(readAll(zip)).rejects.toThrow("longer than the table says");
  });

  test("that says it is huge is refused before it is unpacked", async () => {
    await expect(readArchive(await tamper(pack({ a: strToU8("a") }), 24, 0, 0, 0, 0x70))).rejects.toThrow(
      "unpacks to more than",
    );
  });

  test("whose entries share their bytes is refused", async () => {
    const zip = new Uint8Array(await pack({ a: strToU8("first"), b: strToU8("other") }).arrayBuffer());
    const starts = [...zip.keys()].filter(
      (n) => zip[n] === 0x50 && zip[n + 1] === 0x4b && zip[n + 2] === 1 && zip[n + 3] === 2,
    );
    zip.set([0, 0, 0, 0], starts[1]! + 42); // the second entry is said to lie where the first does
    await expect(readArchive(new Blob([zip]))).rejects.toThrow("overlap");
  });

  test("with too many files is refused", async () => {
    const zip = new Uint8Array(await pack({ a: strToU8("a") }).arrayBuffer());
    zip.set([0x60, 0xea, 0x60, 0xea], zip.length - 14); // it says that it has 60,000
    await expect(readArchive(new Blob([zip]))).rejects.toThrow("60,000 files");
  });
});
