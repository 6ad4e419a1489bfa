import { describe, expect, test } from "vitest";
import { isLeftOut, NameError, numberedPath, Places, readPath } from "./names";

describe("a name", () => {
  test.each([
    ["notes/a.md", "/notes/a.md"],
    ["./notes//a.md", "/notes/a.md"],
    ["notes\\a.md", "/notes/a.md"],
    ["cafe\u0301.md", "/caf\u00e9.md"],
    ["..a/b..c", "/..a/b..c"],
  ])("%s is %s", (name, path) => expect(readPath(name)).toBe(path));

  test.each([
    "../a",
    "a/../../b",
    "a\\..\\b",
    "/etc/passwd",
    "\\windows",
    "C:\\a",
    "c:a",
    "a\0b",
    "a\nb",
    "",
    ".",
    "x".repeat(256),
    "a/".repeat(600) + "b",
  ])("%j is refused", (name) => expect(() => readPath(name)).toThrow(NameError));

  test("gets its number before its ending", () => {
    expect(numberedPath("/notes.d/a.md", 2)).toBe("/notes.d/a (2).md");
    expect(numberedPath("/notes.d/a", 3)).toBe("/notes.d/a (3)");
    expect(numberedPath("/.hidden", 2)).toBe("/.hidden (2)");
  });

  test("of a tool's or a system's leavings is left out", () => {
    expect(["/__MACOSX/a", "/x/.git/HEAD", "/x/.DS_Store", "/node_modules/a/b.js"].every(isLeftOut)).toBe(true);
    expect(["/.gitignore", "/git/a", "/node_modules"].some(isLeftOut)).toBe(false);
  });
});

describe("places", () => {
  const place = (existing: string[], wanted: string[]) => {
    const places = new Places(existing);
    return { paths: wanted.map((path) => places.place(path).path), told: places.told };
  };

  test("of names that differ only in case or normal form are two, and the person is told", () => {
    const { paths, told } = place([], ["/Readme.md", "/README.md", "/readme.MD"]);
    expect(paths).toEqual(["/Readme.md", "/README (2).md", "/readme (3).MD"]);
    expect(told).toHaveLength(2);
    expect(told[0]).toContain("only in case");
  });

  test("of the same path that was there before are a new version, once", () => {
    const places = new Places(["/a.md"]);
    expect(places.place("/a.md")).toEqual({ path: "/a.md", replaces: true });
    expect(places.place("/a.md")).toEqual({ path: "/a (2).md", replaces: false });
    expect(places.place("/A.md")).toEqual({ path: "/A (3).md", replaces: false });
  });

  test("in a folder that differs only in case are in the one that is there", () => {
    const { paths, told } = place(["/Docs/a.md"], ["/docs/b.md", "/docs/A.md", "/DOCS/c.md"]);
    expect(paths).toEqual(["/Docs/b.md", "/Docs/A (2).md", "/Docs/c.md"]);
    expect(told.filter((sentence) => sentence.startsWith("The folder"))).toHaveLength(2);
  });

  test("of a folder and a file of one name are apart", () => {
    expect(place([], ["/a/b.md", "/A"]).paths).toEqual(["/a/b.md", "/A (2)"]);
    const { paths, told } = place(["/a"], ["/a/b.md", "/a/c.md"]);
    expect(paths).toEqual(["/a (2)/b.md", "/a (2)/c.md"]);
    expect(told).toHaveLength(1);
  });

  test("of ten thousand names are found quickly", () => {
    const many = Array.from({ length: 10_000 }, (_, n) => `/f${n % 100}/${n}.md`);
    const started = performance.now();
    expect(new Set(place([], many).paths).size).toBe(10_000);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
