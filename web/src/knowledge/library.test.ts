import "fake-indexeddb/auto";
import { expect, test } from "vitest";
import { openDevice, type Chunk } from "../device/database";
import { keepVectors } from "./library.svelte";

const passage = (n: number, text: string): Chunk => ({ id: `d:${n}`, document_id: "d", n, start: 0, end: text.length, text });

test("a vector is kept for the text that it was made of, not for what stands there by then", async () => {
  const device = await openDevice();
  const embedded = [passage(0, "stays"), passage(1, "is fetched again"), passage(2, "is removed")];
  await device.write("chunks", (stores) => Promise.all([passage(0, "stays"), passage(1, "another text")].map((chunk) => stores.chunks.put(chunk))));
  await keepVectors(device, "small", embedded, embedded.map(({ n }) => new Float32Array([n])));
  const kept = await device.read("vectors", (stores) => stores.vectors.all());
  expect(kept.map(({ chunk_id, embedder, vector }) => [chunk_id, embedder, [...vector]])).toEqual([["d:0", "small", [0]]]);
});
