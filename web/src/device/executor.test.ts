import "fake-indexeddb/auto";
import { afterEach, expect, test, vi } from "vitest";
import { Device } from "./database";
import { carryOut, type Commission } from "./execution";
import { Executor, type Decision } from "./executor.svelte";
import { ProjectFiles } from "./files";
import type { WorkerHost } from "./host";

afterEach(() => vi.unstubAllGlobals());

const CALL = {
  id: "c1",
  name: "write_file",
  args: { title: "notes", path: "/notes.md", content: "new", file_type: "note" },
};
let number = 0;

/** The files after an answer to "May /notes.md be changed?", and what the agent was told. */
async function answer(given: unknown) {
  const device = new Device(`executor${number++}`);
  const sent: any[] = [];
  vi.stubGlobal("navigator", {
    userAgent: "",
    locks: { request: async (_name: string, _options: object, work: (lock: object) => unknown) => work({}) },
  });
  vi.stubGlobal("fetch", async (_path: string, init: RequestInit) => {
    sent.push(JSON.parse(String(init.body)));
    return new Response(JSON.stringify({ claim_id: "c", run_id: "r" }));
  });
  // What its worker does, in this thread.
  const host = {
    carryOut: (project: string, commission: Commission) => carryOut(new ProjectFiles(device, project), commission),
  };
  const executor = new Executor(device, host as unknown as WorkerHost);
  executor.current = { id: "p", name: "Thesis", created_at: "", write_approval: true, kind: "kept" };
  const asked = {
    id: "i1",
    threadId: "t1",
    assistantId: "filer",
    payload: { type: "client_tool_execution", tool_calls: [CALL] },
  };
  await executor.carryOut(asked, given as Decision);
  const files = (await new ProjectFiles(device, "p").list()).map((row) => row.path);
  return { files, told: sent.at(-1).command.resume.i1.tool_results[0] };
}

test("a plain yes changes a file", async () => {
  expect(await answer({ approved: true })).toMatchObject({ files: ["/notes.md"], told: { content: {} } });
});

test.each([{ approved: false, reason: "too early" }, { funding_id: "f" }, { approved: "yes" }, {}])(
  "whatever is no plain yes changes nothing: %j",
  async (given) => {
    const message = "reason" in given ? "too early" : "";
    expect(await answer(given)).toMatchObject({ files: [], told: { error: { code: "rejected", message } } });
  },
);
