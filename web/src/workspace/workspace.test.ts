import { describe, expect, it } from "vitest";
import { addressOf } from "./files";
import { decode, freeName, lookOf, treeOf, type Folder } from "./tree";

const file = (path: string) => ({ path, size: 1, modified_at: "2026-01-01T00:00:00Z" });
const shape = (folder: Folder): unknown => [
  ...folder.folders.map((each) => [each.path, each.count, ...(shape(each) as unknown[])]),
  ...folder.files.map((each) => each.path),
];

describe("the tree", () => {
  it("has folders before files, each with the number of files below it", () => {
    const paths = ["/a.md", "/plans/may.md", "/plans/old/april.md", "/plans/old/march.md", "/Zoo/x"];
    expect(shape(treeOf(paths.map(file)))).toEqual([
      ["/plans/", 3, ["/plans/old/", 2, "/plans/old/april.md", "/plans/old/march.md"], "/plans/may.md"],
      ["/Zoo/", 1, "/Zoo/x"],
      "/a.md",
    ]);
    expect(treeOf([])).toMatchObject({ folders: [], files: [], count: 0 });
  });
  it("grows from ten thousand files at once", () => {
    const files = Array.from({ length: 10_000 }, (_, at) => file(`/d${at % 100}/e${at % 7}/f${at}`));
    expect(treeOf(files).folders).toHaveLength(100);
  });
});

describe("a file", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  it("looks like what it is", () => {
    expect(lookOf("/a.md", bytes("# Hi"))).toBe("markdown");
    expect(lookOf("/a.PNG", bytes(""))).toBe("image");
    expect(lookOf("/a.txt", bytes("ü").subarray(0, 1))).toBe("text");
    expect(lookOf("/a.md", Uint8Array.of(0, 1))).toBe("other");
    expect(lookOf("/a.txt", Uint8Array.of(0xff, 0x41))).toBe("other");
    expect(decode(bytes("aü").subarray(0, 2))).toBe("a");
  });
  it("has an address, whatever its name", () => {
    expect(addressOf("/acme/main/", "/a b/c#d?.md")).toBe(
      "/api/workspace/files/a%20b/c%23d%3F.md?root=%2Facme%2Fmain%2F",
    );
    expect(addressOf("", "/a.md")).toBe("/api/workspace/files/a.md");
  });
  it("gets another name where its own is taken", () => {
    const taken = new Set(["/p/a.md", "/p/a (2).md"]);
    expect(freeName("/p/a.md", (path) => taken.has(path))).toBe("/p/a (3).md");
    expect(freeName("/p.d/README", () => false)).toBe("/p.d/README (2)");
    expect(freeName("/.env", () => false)).toBe("/.env (2)");
  });
});
