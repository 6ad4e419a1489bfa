import "fake-indexeddb/auto";
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { openDevice } from "./database";
import { hashOf, openFiles, type ProjectFiles } from "./files";
import { compileGlob, keyOf, resolveFile, typeOf } from "./paths";
import { changeProject, chooseProject, createProject, currentProject, listProjects, removeProject } from "./projects";

let number = 0;
async function fresh(files: Record<string, string> = {}): Promise<ProjectFiles> {
  const made = await openFiles(`p${number++}`);
  for (const [path, text] of Object.entries(files)) await made.write(path, text);
  return made;
}

describe("writing", () => {
  test("gives the text back, with the hash that the server computes", async () => {
    const files = await fresh({ "/notes/a.md": "Grüße\n" });
    const { row, text } = await files.readText("notes/a.md");
    expect(text).toBe("Grüße\n");
    expect(row).toMatchObject({
      path: "/notes/a.md",
      title: "a.md",
      type: "note",
      size: 8,
      hash: createHash("sha256").update("Grüße\n").digest("hex"),
    });
  });

  test("refuses to replace without being told to, and a base that is not the present text", async () => {
    const files = await fresh({ "/a.md": "one" });
    await expect(files.write("/a.md", "two")).rejects.toMatchObject({ code: "conflict", message: "it exists already" });
    await expect(
      files.write("/a.md", "two", { overwrite: true, base_hash: await hashOf("zero") }),
    ).rejects.toMatchObject({ code: "conflict", message: "it was changed meanwhile" });
    await expect(files.write("/b.md", "two", { base_hash: await hashOf("zero") })).rejects.toMatchObject({
      code: "conflict",
    });
    await files.write("/a.md", "two", { overwrite: true, base_hash: await hashOf("one") });
    expect((await files.readText("/a.md")).text).toBe("two");
  });

  test("takes names that differ only in case or normal form for one", async () => {
    const files = await fresh({ "/Notes/Über.md": "one" });
    await expect(files.write("/notes/U\u0308BER.md", "two")).rejects.toMatchObject({ code: "conflict" });
    const row = await files.write("/NOTES/über.md", "two", { overwrite: true });
    expect(row.path).toBe("/Notes/Über.md");
    expect((await files.write("/notes/b.md", "x")).path).toBe("/Notes/b.md");
    expect(await files.list()).toHaveLength(2);
  });

  test("refuses a file where a folder is, and a folder where a file is", async () => {
    const files = await fresh({ "/a/b.md": "one", "/c": "two" });
    await expect(files.write("/a", "x")).rejects.toThrow("is a folder");
    await expect(files.write("/C/d.md", "x")).rejects.toThrow("'/C' is a file");
  });

  test("of several files is all or nothing", async () => {
    const files = await fresh({ "/b.md": "there" });
    await expect(
      files.writeAll([
        { path: "/a.md", content: "1" },
        { path: "/b.md", content: "2" },
      ]),
    ).rejects.toMatchObject({ code: "conflict" });
    await expect(
      files.writeAll([
        { path: "/a.md", content: "1" },
        { path: "/A.md", content: "2" },
      ]),
    ).rejects.toMatchObject({ code: "conflict" });
    expect((await files.list()).map((row) => row.path)).toEqual(["/b.md"]);
  });

  test("keeps large texts and bytes that are no text", async () => {
    const files = await fresh();
    const large = "ä".repeat(600_000);
    await files.write("/large.txt", large, { by: "import" });
    expect((await files.readText("/large.txt")).text).toBe(large);
    const row = await files.write("/picture.png", new Blob([new Uint8Array([0x89, 0, 255, 1])]));
    expect(row.binary).toBe(true);
    expect((await (await files.read("/picture.png")).blob!.arrayBuffer()).byteLength).toBe(4);
    await expect(files.readText("/picture.png")).rejects.toThrow("not a text file");
    await expect(files.write("/huge.txt", { size: 600_000_000 } as Blob)).rejects.toMatchObject({ code: "too_large" });
    await expect(files.write("/half.txt", "\ud800")).rejects.toThrow("half of a character");
  });
});

describe("patching", () => {
  test("changes what it names, and nothing when it does not fit", async () => {
    const files = await fresh({ "/a.md": "one two two" });
    await files.patch("/a.md", { search: "one", replace: "$& 1" });
    expect((await files.readText("/a.md")).text).toBe("$& 1 two two");
    await expect(files.patch("/a.md", { search: "three", replace: "" })).rejects.toMatchObject({
      code: "conflict",
      message: "the text to replace does not occur in it",
    });
    await expect(files.patch("/a.md", { search: "two", replace: "" })).rejects.toThrow("occurs 2 times");
    await expect(files.patch("/b.md", { search: "two", replace: "" })).rejects.toMatchObject({ code: "not_found" });
    expect(await files.versions("/a.md")).toHaveLength(2);
    await files.patch("/a.md", { search: "two", replace: "2", replace_all: true });
    expect((await files.readText("/a.md")).text).toBe("$& 1 2 2");
  });

  test("is refused if the file changed between plan and deed", async () => {
    const files = await fresh({ "/a.md": "one" });
    const plan = await files.planPatch("/a.md", { search: "one", replace: "two" });
    await files.write("/a.md", "one!", { overwrite: true });
    await expect(files.make([plan])).rejects.toMatchObject({ code: "conflict", message: "it was changed meanwhile" });
    expect((await files.readText("/a.md")).text).toBe("one!");
  });
});

describe("versions", () => {
  test("undo takes the last change back, and again makes it", async () => {
    const files = await fresh({ "/a.md": "one" });
    await files.write("/a.md", "two", { overwrite: true, by: "agent", reason: "shorter" });
    expect((await files.versions("/a.md"))[0]).toMatchObject({ by: "agent", reason: "shorter", text: "one" });
    await files.undo("/a.md");
    expect((await files.readText("/a.md")).text).toBe("one");
    await files.undo("/a.md");
    expect((await files.readText("/a.md")).text).toBe("two");
  });

  test("undo of a file's first writing removes it, and it can be brought back", async () => {
    const files = await fresh({ "/a.md": "one" });
    expect(await files.undo("/a.md")).toBeNull();
    const [last] = await files.removed();
    await files.restore(last!);
    expect((await files.readText("/a.md")).text).toBe("one");
  });

  test("go along when a file is renamed", async () => {
    const files = await fresh({ "/a.md": "one", "/c.md": "x" });
    await files.rename("/a.md", "/sub/b.md");
    await files.rename("/sub/b.md", "/sub/B.md");
    await expect(files.rename("/sub/b.md", "/c.md")).rejects.toMatchObject({ code: "conflict" });
    expect((await files.list()).map((row) => row.path)).toEqual(["/c.md", "/sub/B.md"]);
    expect(await files.versions("/sub/b.md")).toHaveLength(1);
  });

  test("are limited in number", async () => {
    const files = await fresh({ "/a.md": "0" });
    for (let n = 1; n < 60; n++) await files.write("/a.md", String(n), { overwrite: true });
    const versions = await files.versions("/a.md");
    expect([versions.length, versions[0]!.text]).toEqual([50, "58"]);
  });
});

test("a project is made, chosen, changed and removed with everything in it", async () => {
  const project = await createProject("  Thesis ");
  await expect(createProject(" ")).rejects.toThrow("needs a name");
  const files = await openFiles(project.id);
  await files.write("/a.md", "one");
  await chooseProject(project.id);
  expect(await currentProject()).toMatchObject({ name: "Thesis", write_approval: true });
  await changeProject(project.id, { write_approval: false });
  expect((await listProjects())[0]!.write_approval).toBe(false);
  await removeProject(project.id);
  expect([await currentProject(), await files.list(), await files.removed()]).toEqual([null, [], []]);
  expect(await (await openDevice()).read("contents", (stores) => stores.contents.countBy("project", project.id))).toBe(
    0,
  );
});

describe("a path", () => {
  test.each([
    "../a",
    "/a/../b",
    "a/%2e%2e/b",
    "/a\\..\\b",
    "\\\\host\\a",
    "C:\\a",
    "C:/a",
    "~/a",
    "file:///a",
    "/a\u202eb",
    "/",
    "/a/%ff/b",
    "/ /a",
    `/${"a".repeat(300)}`,
    7,
  ])("%s is refused", (raw) => {
    expect(() => resolveFile(raw)).toThrow(/^Error: /);
  });

  test("has one form", () => {
    expect(resolveFile("./a//b/./c.md")).toBe("/a/b/c.md");
    expect(resolveFile("a\\b\\c.md")).toBe("/a/b/c.md");
    expect(keyOf("/STRASSE.md")).toBe(keyOf("/Straße.md"));
    expect([typeOf("/drafts/x.bin"), typeOf("/a.py"), typeOf("/a.bin")]).toEqual(["draft", "code", "other"]);
  });
});

test.each([
  ["**/*.md", ["/a.md", "/b/c.md"], ["/a.txt"]],
  ["*.md", ["/a.md"], ["/b/c.md"]],
  ["b/**", ["/b/c.md", "/b/d/e"], ["/a.md"]],
  ["**/{a,b}?.[mt]*", ["/x/ab.md", "/bc.txt"], ["/a.md", "/cc.md"]],
  ["[!a].md", ["/b.md"], ["/a.md"]],
  ["a+(b).md", ["/a+(b).md"], ["/aab.md"]],
])("the glob %s", (pattern, inside, outside) => {
  const passes = compileGlob(pattern);
  expect([...inside, ...outside].filter(passes)).toEqual(inside);
  expect(compileGlob("*.md", true)("/b/c.md")).toBe(true);
});

test("a file that comes back is the one it was: it keeps its versions, and is no longer listed as removed", async () => {
  const files = await openFiles((await createProject("Back")).id);
  await files.write("/a.md", "one");
  await files.write("/a.md", "two", { overwrite: true });
  await files.remove("/a.md");
  await files.restore((await files.removed())[0]!);
  expect(await files.removed()).toEqual([]);
  expect((await files.readText("/a.md")).text).toBe("two");
  expect((await files.versions("/a.md")).map((version) => version.text)).toContain("one");
});
