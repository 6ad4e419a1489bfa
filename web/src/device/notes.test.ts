import "fake-indexeddb/auto";
import { afterEach, expect, test, vi } from "vitest";
import type { Json } from "../lib/json";
import type { Device, Project } from "./database";
import { Executor } from "./executor.svelte";
import type { WorkerHost } from "./host";
import { notesIn } from "./notes";
import { createProject, listProjects } from "./projects";
import { describe as say } from "./wording";

afterEach(() => vi.unstubAllGlobals());

const write = (path: string) => ({ id: path, name: "write_file", args: { path, title: path, content: "x" } });
const asking = (calls: object[], more: object = { notes: { folder: "tutor", text: "Your claim: yes." } }) =>
  ({ type: "client_tool_execution", tool_calls: calls, ...more }) as unknown as Json;

test("notes are a request that says so and stays in its folder", () => {
  expect(notesIn(asking([write("/tutor/log.md")]))).toEqual({ folder: "tutor", text: "Your claim: yes." });
  for (const payload of [
    asking([write("/tutor/log.md")], {}),
    asking([write("/tutor/log.md"), write("/diary.md")]),
    asking([write("/tutor/../diary.md")]),
    asking([write("/tutors/log.md")]),
    asking([{ id: "1", name: "write_file", args: { title: "/tutor/log.md", content: "x" } }]),
    asking([{ id: "1", name: "patch_file", args: { path: "/tutor/log.md", file_id: "/diary.md" } }]),
    asking([{ id: "1", name: "delete_file", args: { file_id: "/tutor/log.md" } }]),
    asking([write("/papers/a.md")], { notes: { folder: "papers", text: "" } }),
    asking([write("/a.md")], { notes: { folder: "", text: "" } }),
    asking([{ id: "1", name: "read_file", args: { file_id: "/tutor/log.md" } }]),
  ])
    expect(notesIn(payload)).toBeNull();
});

test("saved notes are not told in every turn, and what fails is", () => {
  const call = write("/tutor/log.md");
  expect(say([call], [{ tool_call_id: call.id, content: {} }])).toBe("");
  const read = { id: "r", name: "read_file", args: { file_id: "/tutor/log.md" } };
  expect(say([read], [{ tool_call_id: "r", error: { code: "not_found", message: "" } }])).toBe("");
  expect(say([{ ...read, args: { file_id: "/diary.md" } }], [{ tool_call_id: "r", content: {} }])).toContain("diary");
  expect(say([call], [{ tool_call_id: call.id, error: { code: "conflict", message: "it was changed" } }])).toContain(
    "/tutor/log.md was not changed",
  );
});

test("the answer stays with the project and covers notes alone", async () => {
  const project = await createProject("Thesis");
  vi.stubGlobal("navigator", {
    userAgent: "",
    locks: { request: async () => undefined },
  });
  const executor = new Executor({} as Device, { close: () => undefined } as unknown as WorkerHost);
  const notes = asking([write("/tutor/log.md")], { project_id: project.id, notes: { folder: "tutor", text: "" } });
  const own = asking([write("/diary.md")], { project_id: project.id, notes: { folder: "tutor", text: "" } });
  const asked = { id: "i1", threadId: "t", assistantId: "a", payload: notes };
  const stored = async () => (await listProjects()).find((each) => each.id === project.id) as Project;
  const known = async () => (executor.projects = [await stored()]);
  await known();
  expect(executor.asksPerson("i1", notes)).toBe(true);
  for (const approved of [true, false]) {
    await executor.carryOut(asked, approved ? { approved } : { approved, reason: "" });
    await known();
    expect((await stored()).keeps_notes).toBe(approved);
    expect(executor.asksPerson("i1", notes)).toBe(false);
    expect(executor.asksPerson("i2", own)).toBe(true);
  }
});
