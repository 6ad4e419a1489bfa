import "fake-indexeddb/auto";
import { strToU8, zipSync } from "fflate";
import { describe, expect, test } from "vitest";
import { openDevice, type Device } from "../device/database";
import { openFiles } from "../device/files";
import { importFiles, sweepStaging, type ImportOrder, type Source } from "./importing";
import { exportProject } from "./packing";
import { searchTexts } from "./searching";

const never = new AbortController().signal;
const file = (name: string, content: BlobPart, more: Partial<File> = {}) => {
  const made = new File([content], name.split("/").at(-1)!, { lastModified: Date.UTC(2025, 1, 3) });
  return { name, file: Object.defineProperties(made, Object.getOwnPropertyDescriptors(more)) as File };
};
const folder = (...files: Source["files"][number][]): Source => ({ label: "folder/", kind: "files", files });
const zip = (content: Uint8Array): Source => ({
  label: "a.zip",
  kind: "zip",
  files: [file("a.zip", content as Uint8Array<ArrayBuffer>)],
});
const order = (sources: Source[], projectId: string | null = null): ImportOrder => ({
  id: crypto.randomUUID(),
  projectId,
  projectName: "Notes",
  sources,
});
const run = (device: Device, what: ImportOrder, signal = never) => importFiles(device, what, () => undefined, signal);

async function everything(device: Device) {
  return device.read(["projects", "files", "contents", "versions"], async (stores) => ({
    projects: await stores.projects.count(),
    files: (await stores.files.all()).map((row) => row.path).sort(),
    contents: await stores.contents.count(),
    versions: await stores.versions.count(),
  }));
}
const NOTHING = { projects: 0, files: [], contents: 0, versions: 0 };

describe("an import", () => {
  test("brings a folder as a new project, without what tools leave behind", async () => {
    const device = await openDevice("folder");
    const bytes = new Uint8Array([0, 1, 2, 255]);
    const result = await run(
      device,
      order([folder(file("n/a.md", "hello"), file("n/b.bin", bytes), file("n/.git/HEAD", "x"))]),
    );
    expect(result).toMatchObject({ added: 2, replaced: 0, leftOut: 1, told: [] });
    const files = await openFiles(result.projectId, device);
    expect((await files.list()).map((row) => [row.path, row.size, row.binary ?? false])).toEqual([
      ["/n/a.md", 5, false],
      ["/n/b.bin", 4, true],
    ]);
    expect((await files.readText("/n/a.md")).text).toBe("hello");
    expect(new Uint8Array(await (await files.read("/n/b.bin")).blob!.arrayBuffer())).toEqual(bytes);
  });

  test("into a project gives changed files a new version and leaves the same ones alone", async () => {
    const device = await openDevice("again");
    const { projectId } = await run(device, order([folder(file("a.md", "one"), file("b.md", "same"))]));
    const result = await run(
      device,
      order([folder(file("a.md", "two"), file("b.md", "same"), file("A.md", "other"), file("c.md", "new"))], projectId),
    );
    expect(result).toMatchObject({ added: 2, replaced: 1, unchanged: 1 });
    expect(result.told).toEqual([
      "“/A.md” differs from “/a.md” only in case or accents' form: it is kept as “/A (2).md”.",
    ]);
    const files = await openFiles(projectId, device);
    expect((await files.readText("/a.md")).text).toBe("two");
    await files.undo("/a.md");
    expect((await files.readText("/a.md")).text).toBe("one");
  });

  test("that fails in the middle leaves nothing", async () => {
    const device = await openDevice("middle");
    const vanished = { arrayBuffer: () => Promise.reject(new DOMException("The file is gone.", "NotFoundError")) };
    const many = Array.from({ length: 450 }, (_, n) => file(`f${n}.md`, `text ${n}`, n === 420 ? vanished : {}));
    await expect(run(device, order([folder(...many)]))).rejects.toThrow("The file is gone");
    expect(await everything(device)).toEqual(NOTHING);
  });

  test("that is cancelled leaves nothing", async () => {
    const device = await openDevice("cancelled");
    const control = new AbortController();
    const many = Array.from({ length: 500 }, (_, n) => file(`f${n}.md`, `text ${n}`));
    const running = importFiles(
      device,
      order([folder(...many)]),
      ({ done }) => void (done[0]! >= 200 && control.abort()),
      control.signal,
    );
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
    expect(await everything(device)).toEqual(NOTHING);
  });

  test("that was cut off is swept away at the next start, one that goes on is not", async () => {
    const device = await openDevice("swept");
    const row = { path: "/a", path_key: "/a", title: "a", type: "other", hash: "", size: 0, modified_at: "" };
    await device.write(["files", "contents"], async (stores) => {
      for (const id of ["dead", "alive"]) {
        await stores.files.add({ ...row, id, project_id: `staging:${id}` });
        await stores.contents.add({ file_id: id, project_id: "p", text: "" });
      }
    });
    await navigator.locks.request("stepwell.import.alive", async () => expect(await sweepStaging(device)).toBe(1));
    expect(await device.read("contents", (stores) => stores.contents.all())).toMatchObject([{ file_id: "alive" }]);
    expect(await sweepStaging(device)).toBe(1);
    expect(await everything(device)).toEqual(NOTHING);
  });

  test.each([
    [
      "a name that leads out",
      () => zip(zipSync({ "a.md": strToU8("a"), "../../etc/passwd": strToU8("x") })),
      "climbs out",
    ],
    ["an absolute name", () => zip(zipSync({ "/etc/passwd": strToU8("x") })), "absolute name"],
    [
      "a file of 500 MB",
      () =>
        folder(file("big.bin", "", { size: 500_000_000, arrayBuffer: () => Promise.reject(new Error("it was read")) })),
      "has 500.0 MB",
    ],
    ["nothing in it", () => folder(file(".DS_Store", "x")), "no file to import"],
  ])("with %s is refused before anything is kept", async (_, source, sentence) => {
    const device = await openDevice("refused");
    await expect(run(device, order([source()]))).rejects.toThrow(sentence);
    expect(await everything(device)).toEqual(NOTHING);
  });
});

test("a project goes out and comes in again byte for byte, and asks before changes", async () => {
  const device = await openDevice("round");
  const contents: Record<string, Uint8Array> = {
    "plain.md": strToU8("text"),
    "with a mark.txt": new Uint8Array([0xef, 0xbb, 0xbf, 65]),
    "latin.txt": new Uint8Array([0xe4, 0xf6]),
    empty: new Uint8Array(),
    "deep/ünï/long.txt": strToU8("line\r\n".repeat(120_000)),
    "image.png": crypto.getRandomValues(new Uint8Array(50_000)),
    ".stepwell-project.json": strToU8('{"a file": "of this name"}'),
  };
  const { projectId } = await run(
    device,
    order([folder(...Object.entries(contents).map(([name, bytes]) => file(name, bytes as Uint8Array<ArrayBuffer>)))]),
  );
  await device.write("projects", async (stores) =>
    stores.projects.put({ ...(await stores.projects.get(projectId))!, name: "On wells", write_approval: false }),
  );
  const { blob, files: count } = await exportProject(device, projectId, () => undefined, never);
  expect(count).toBe(7);
  const again = await run(device, {
    ...order([]),
    sources: [{ label: "x.zip", kind: "zip", files: [{ name: "x.zip", file: new File([blob], "x.zip") }] }],
  });
  expect(await device.read("projects", (stores) => stores.projects.get(again.projectId))).toMatchObject({
    name: "On wells",
    write_approval: true,
  });
  const [before, after] = await Promise.all(
    [projectId, again.projectId].map(async (id) => (await openFiles(id, device)).list()),
  );
  const facts = (rows: typeof before) =>
    rows!.map(({ path, hash, size, type, title, modified_at }) => ({ path, hash, size, type, title, modified_at }));
  expect(facts(after)).toEqual(facts(before));
});

test("words are found in short and long texts, with their lines", async () => {
  const device = await openDevice("search");
  const { projectId } = await run(
    device,
    order([
      folder(
        file("a.md", "first\nThe Well is deep\nlast"),
        file("long.txt", `${"x\n".repeat(300_000)}a well here`),
        file("b.bin", new Uint8Array([0, 1])),
      ),
    ]),
  );
  const { hits, more } = await searchTexts(device, projectId, "well", never);
  expect(hits.map(({ path, line, text, start, end }) => [path, line, text.slice(start, end)])).toEqual([
    ["/a.md", 2, "Well"],
    ["/long.txt", 300_001, "well"],
  ]);
  expect(more).toBe(false);
});
