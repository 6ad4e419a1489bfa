import "fake-indexeddb/auto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openDevice } from "./database";
import { listSent } from "./sent-log";
import { carryOut, type Commission } from "./execution";
import { openFiles, type ProjectFiles } from "./files";
import { compilePattern } from "./grep";
import type { Call, Result } from "./calls";
import { CHANGING, failure, fitted, read } from "./operations";
import { preview } from "./preview";
import { passagesOf, search } from "./search";

interface Case {
  name: string;
  approve: boolean | string;
  requires_approval: boolean;
  calls: Call[];
  results: Record<string, unknown>[];
  /** Null: it is gone. */
  changed: Record<string, string | null>;
}
const kept = JSON.parse(
  readFileSync(new URL("../../../tests/fixtures/device_cases.json", import.meta.url), "utf8"),
) as {
  files: Record<string, string>;
  cases: Case[];
};

let number = 0;
async function projectWith(files: Record<string, string>): Promise<ProjectFiles> {
  const made = await openFiles(`q${number++}`);
  await made.writeAll(
    Object.entries(files).map(([path, content]) => ({ path, content })),
    { by: "import" },
  );
  return made;
}

async function readAll(files: ProjectFiles, calls: readonly Call[]): Promise<Result[]> {
  const reading = calls.filter((call) => !CHANGING.has(call.name));
  return Promise.all(
    reading.map(async (call) => {
      try {
        return { tool_call_id: call.id, content: await read({ files, embedder: null }, call) };
      } catch (error) {
        return failure(call, error);
      }
    }),
  );
}

const commissionOf = (calls: readonly Call[], reads: readonly Result[] = []): Commission => ({
  interrupt_id: `i${number++}`,
  thread_id: "t1",
  assistant_id: "a1",
  to: "Tutor",
  claim_id: "c",
  calls,
  reads,
});

async function textsOf(files: ProjectFiles): Promise<Record<string, string>> {
  const rows = await files.list();
  return Object.fromEntries(
    await Promise.all(rows.map(async (row) => [row.path, (await files.readText(row.path)).text])),
  );
}

test.each(kept.cases)("the page answers as a folder does: $name", async (given) => {
  const files = await projectWith(kept.files);
  const asked = given.requires_approval && given.calls.some((call) => CHANGING.has(call.name));
  const allowed = !asked || given.approve === true;
  const refusal = allowed ? {} : { refusal: typeof given.approve === "string" ? given.approve : "" };
  const row = await carryOut(files, { ...commissionOf(given.calls, await readAll(files, given.calls)), ...refusal });
  expect(row.answer.tool_results).toMatchObject(given.results);
  const after = Object.entries({ ...kept.files, ...given.changed }).filter(([, text]) => text !== null);
  expect(await textsOf(files)).toEqual(Object.fromEntries(after));
});

const write = (path: string, content: string, id = "c1"): Call => ({
  id,
  name: "write_file",
  args: { title: path, path, content, file_type: "note" },
});

describe("what an interrupt asks", () => {
  test("is done once, and the second time its answer is found", async () => {
    const files = await projectWith({});
    const commission = commissionOf([write("/a.md", "one")]);
    const first = await carryOut(files, commission);
    expect(await carryOut(files, commission)).toEqual(first);
    expect(await files.versions("/a.md")).toHaveLength(1);
    expect(first.words).toBe("/a.md was written.");
  });

  test("is another question if it asks for something else under the same id", async () => {
    const files = await projectWith({});
    const commission = commissionOf([write("/a.md", "one")]);
    await carryOut(files, commission);
    await carryOut(files, { ...commission, calls: [write("/b.md", "two")] });
    expect((await files.list()).map((row) => row.path)).toEqual(["/a.md", "/b.md"]);
  });

  test("leaves a line for everything that leaves the device, and none for a change", async () => {
    const files = await projectWith({ "/a.md": "secret river" });
    const calls = [
      { id: "1", name: "read_file", args: { file_id: "/a.md" } },
      { id: "2", name: "grep_files", args: { pattern: "river" } },
      { id: "3", name: "list_files", args: {} },
      write("/b.md", "two", "4"),
    ];
    const commission = { ...commissionOf(calls, await readAll(files, calls)), thread_id: "leaving" };
    await carryOut(files, commission);
    const left = await listSent({ thread_id: "leaving" });
    expect(left.every((row) => row.to === "Tutor")).toBe(true);
    expect(left.map((row) => [row.kind, row.label, row.excerpt]).sort()).toEqual([
      ["file", "/a.md", "secret river"],
      ["listing", "Names of files", "/a.md"],
      ["snippet", "Lines with river", "/a.md: secret river"],
    ]);
  });

  test("makes no second change of one file in one step", async () => {
    const files = await projectWith({});
    const row = await carryOut(files, commissionOf([write("/a.md", "one", "1"), write("/A.md", "two", "2")]));
    expect(row.answer.tool_results).toMatchObject([{ error: { code: "failed" } }, { error: { code: "conflict" } }]);
    expect(await files.list()).toEqual([]);
  });

  test("fits into an answer", () => {
    const calls = [write("/a", ""), write("/b", "", "c2")];
    const results: Result[] = [
      { tool_call_id: "c1", content: { text: "x".repeat(1_000_000) } },
      { tool_call_id: "c2", content: { text: "short" } },
    ];
    expect(fitted(results, calls)).toMatchObject([{ error: { code: "too_large" } }, { content: { text: "short" } }]);
  });

  test("can be seen before", async () => {
    const files = await projectWith({ "/a.md": "one" });
    const patch = {
      id: "c2",
      name: "patch_file",
      args: { file_id: "/a.md", search: "zero", replace: "", description: "shorter" },
    };
    const [written, patched] = await preview(files, [write("/b.md", "two"), patch]);
    expect(written).toMatchObject({ path: "/b.md", before: "", after: "two", isNew: true, problem: null });
    expect(patched).toMatchObject({ problem: "the text to replace does not occur in it", description: "shorter" });
    const long = Array.from({ length: 300_000 }, (_, at) => `line ${at}`);
    await files.write("/long.md", long.join("\n"));
    const [cut] = await preview(files, [
      {
        id: "c3",
        name: "patch_file",
        args: { file_id: "/long.md", search: "line 150000", replace: "here", description: "" },
      },
    ]);
    expect(cut).toMatchObject({
      cut: true,
      before: expect.stringMatching(/^line 149997\n/),
      after: expect.stringContaining("here"),
    });
    expect(cut!.after.length).toBeLessThan(200);
  });
});

describe("reading", () => {
  test("refuses what is too long for one answer, and gives a part of it", async () => {
    const files = await projectWith({ "/long.txt": `${"x".repeat(300_000)}\nshort\n` });
    const call = { id: "1", name: "read_file", args: { file_id: "/long.txt" } };
    await expect(read({ files, embedder: null }, call)).rejects.toMatchObject({
      code: "too_large",
      message: "300,007 characters; at most 262,144 are sent at once.",
    });
    expect(
      await read({ files, embedder: null }, { ...call, args: { ...call.args, offset: 1, limit: 1 } }),
    ).toMatchObject({ text: "short", total_lines: 2 });
  });

  test("gives at most 200 lines and 1,000 names", async () => {
    const files = await projectWith({});
    const rows = Array.from({ length: 1_001 }, (_, at) => ({
      id: `n${at}`,
      project_id: files.projectId,
      path: `/n/${at}.md`,
      path_key: `/n/${at}.md`,
      title: `${at}.md`,
      type: "note",
      hash: "",
      size: 4,
      modified_at: "",
    }));
    await files.device.write(["files", "contents"], async (stores) => {
      for (const row of rows)
        await Promise.all([
          stores.files.put(row),
          stores.contents.put({ file_id: row.id, project_id: files.projectId, text: "same" }),
        ]);
    });
    const found = await read({ files, embedder: null }, { id: "1", name: "grep_files", args: { pattern: "same" } });
    expect([(found["matches"] as unknown[]).length, found["truncated"]]).toEqual([200, true]);
    const named = await read({ files, embedder: null }, { id: "2", name: "glob_files", args: { pattern: "**" } });
    expect([(named["files"] as unknown[]).length, named["truncated"]]).toEqual([1_000, true]);
  });

  test.each([
    ["(?i)NILE", "nile"],
    ["(?P<who>nile)", "the nile"],
    ["\\Athe", "the nile"],
    ["[[:alpha:]]+", "a"],
    ["a\\-b", "a-b"],
  ])("takes %s as the server writes it", (pattern, line) => {
    expect(compilePattern(pattern, true).test(line)).toBe(true);
  });

  test("refuses an expression that is none", () => {
    expect(() => compilePattern("(", true)).toThrow("is not an expression");
  });
});

describe("search", () => {
  const embedder = {
    id: "letters",
    calls: 0,
    embed(texts: string[]) {
      this.calls += texts.length;
      return Promise.resolve(
        texts.map((text) => Float32Array.of(text.split("a").length - 1, text.split("e").length - 1)),
      );
    },
  };

  test("goes by meaning where there is a model, and embeds a text once", async () => {
    const files = await projectWith({ "/a.md": "aaaa", "/e.md": "eeee" });
    expect(await search(files, { query: "e" }, embedder)).toMatchObject({
      by: "meaning",
      hits: [{ path: "/e.md" }, { path: "/a.md" }],
    });
    const before = embedder.calls;
    await search(files, { query: "a" }, embedder);
    expect(embedder.calls - before).toBe(1);
    expect(await (await openDevice()).read("file_vectors", (stores) => stores.file_vectors.count())).toBe(2);
  });

  test("says that it went by words where there is none", async () => {
    const files = await projectWith({ "/a.md": "the long river\n\nanother paragraph" });
    expect(await search(files, { query: "river" }, null)).toMatchObject({
      by: "words",
      hits: [{ path: "/a.md", line_number: 1, text: "the long river" }],
    });
  });

  test("cuts a long paragraph where a sentence ends, and knows its line", () => {
    const text = `head\n\n${"A sentence of some words. ".repeat(40)}`;
    const passages = passagesOf("/a.md", text);
    expect(passages.length).toBeGreaterThan(2);
    expect(passages.slice(1).every((passage) => passage.line_number === 3 && passage.text.length <= 500)).toBe(true);
    expect(passages.map((passage) => passage.text).join("")).toBe(text.replace("\n\n", ""));
    expect(passages[1]!.text.endsWith(". ")).toBe(true);
  });
});

describe("a deletion and a move", () => {
  const remove = (file_id: string): Call => ({ id: "c1", name: "delete_file", args: { file_id } });
  const move = (file_id: string, path: string, more = {}): Call => ({
    id: "c1",
    name: "move_file",
    args: { file_id, path, ...more },
  });

  test("can be seen before: the text that is lost, or the paths", async () => {
    const files = await projectWith({ "/a.md": "one", "/docs/b.md": "two", "/docs/c.md": "three" });
    const [file] = await preview(files, [remove("/a.md")]);
    expect(file).toMatchObject({ path: "/a.md", before: "one", after: "", isNew: false, problem: null });
    const [folder] = await preview(files, [remove("/docs")]);
    expect(folder).toMatchObject({ before: "/docs/b.md\n/docs/c.md", after: "" });
    expect(folder!.description).toMatch(/^Deletes 2 files/);
    const [moved] = await preview(files, [move("/docs", "/old")]);
    expect(moved).toMatchObject({ before: "/docs/b.md\n/docs/c.md", after: "/old/b.md\n/old/c.md" });
    const [over] = await preview(files, [move("/a.md", "/docs/b.md", { overwrite: true })]);
    expect(over).toMatchObject({ before: "two", after: "one" });
    expect((await preview(files, [move("/a.md", "/docs")]))[0]!.problem).toMatch(/is a folder/);
  });

  test("can be undone", async () => {
    const files = await projectWith({ "/a.md": "one", "/docs/b.md": "two" });
    await carryOut(files, commissionOf([remove("/docs")]));
    const [gone] = await files.removed();
    expect(gone).toMatchObject({ path: "/docs/b.md", by: "agent", reason: "Deleted by the agent" });
    await files.restore(gone!);
    await carryOut(files, commissionOf([move("/a.md", "/docs/b.md", { overwrite: true })]));
    expect(await textsOf(files)).toEqual({ "/docs/b.md": "one" });
    expect((await files.removed())[0]).toMatchObject({ path: "/docs/b.md" });
    await files.undo("/docs/b.md");
    expect(await textsOf(files)).toEqual({ "/a.md": "one" });
    await files.undo("/a.md");
    expect(await textsOf(files)).toEqual({ "/docs/b.md": "one" });
  });

  test("only renames what differs in its spelling", async () => {
    const files = await projectWith({ "/a.md": "one" });
    await carryOut(files, commissionOf([move("/a.md", "/A.md")]));
    expect(await textsOf(files)).toEqual({ "/A.md": "one" });
  });

  test("and another change of the same file do not go together", async () => {
    const files = await projectWith({ "/a.md": "one" });
    const row = await carryOut(
      files,
      commissionOf([
        remove("/a.md"),
        { ...write("/a.md", "two", "c2"), args: { path: "/a.md", content: "two", overwrite: true } },
      ]),
    );
    expect((row.answer.tool_results as Result[]).every((result) => "error" in result)).toBe(true);
    expect(await textsOf(files)).toEqual({ "/a.md": "one" });
  });
});
