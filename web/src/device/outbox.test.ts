import "fake-indexeddb/auto";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ApiError } from "../api";
import { claim, describeBrowser, GoneError, HeldError, readRefusal } from "./claims";
import { Device, type OutboxRow } from "./database";
import { deliver, findDone, unsentRows } from "./outbox";

let number = 0;
let device: Device;
let answers: { status: number; body: unknown }[];
let sent: { path: string; body: Record<string, any> }[];

beforeEach(() => {
  device = new Device(`outbox${number++}`);
  [answers, sent] = [[], []];
  vi.stubGlobal("navigator", {
    userAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130 Safari/537.36",
  });
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    sent.push({ path, body: JSON.parse(String(init.body)) });
    const next = answers.shift();
    if (!next) return Promise.reject(new TypeError("no network"));
    return Promise.resolve(new Response(JSON.stringify(next.body), { status: next.status }));
  });
});
afterEach(() => vi.unstubAllGlobals());

const problem = (status: number, kind: string, more = {}) => ({
  status,
  body: { type: `urn:stepwell:problem:${kind}`, detail: `It is ${kind}.`, ...more },
});
const call = (name: string) => JSON.stringify([{ id: "c1", name, args: { path: "/a.md" } }]);

async function keep(more: Partial<OutboxRow> = {}): Promise<OutboxRow> {
  const row: OutboxRow = {
    interrupt_id: "i1",
    thread_id: "t1",
    assistant_id: "filer",
    claim_id: "c",
    answer: { tool_results: [{ tool_call_id: "c1", content: {} }] },
    question: call("write_file"),
    at: "",
    words: "/a.md was written.",
    ...more,
  };
  await device.write("outbox", (stores) => stores.outbox.put(row));
  return row;
}

describe("an answer", () => {
  test("goes with its claim, and is kept so that the same question gets it again", async () => {
    answers = [{ status: 200, body: { run_id: "r" } }];
    const row = await keep();
    expect(await deliver(device, row, "filer")).toEqual({ state: "delivered" });
    expect(sent[0]!.body["command"].resume.i1).toEqual({ ...row.answer, claim_id: "c" });
    expect(await unsentRows(device)).toEqual([]);
    expect(await findDone(device, "i1", row.question)).toMatchObject({ fresh: true });
    expect(await findDone(device, "i1", call("patch_file"))).toBeNull();
    const long_ago = new Date(Date.now() - 60_000).toISOString();
    await keep({ delivered_at: long_ago });
    expect(await findDone(device, "i1", row.question)).toMatchObject({ fresh: false, row: { answer: row.answer } });
  });

  test("that only read is not kept, and is read again when it is asked again", async () => {
    answers = [{ status: 200, body: {} }];
    const row = await keep({ question: call("read_file"), answer: { tool_results: [{ text: "secret" }] } });
    await deliver(device, row, "filer");
    const [kept] = await device.read("outbox", (stores) => stores.outbox.all());
    expect(kept!.answer.tool_results).toEqual([]);
    await device.write("outbox", (stores) => stores.outbox.put({ ...kept!, delivered_at: "2026-01-01T00:00:00Z" }));
    expect(await findDone(device, "i1", row.question)).toBeNull();
  });

  test("stays while nothing answers", async () => {
    expect(await deliver(device, await keep(), "filer")).toMatchObject({
      state: "unsent",
      words: expect.stringContaining("Done here."),
    });
    expect(await unsentRows(device)).toHaveLength(1);
  });

  test("is dropped with a word when somebody else answered", async () => {
    answers = [problem(409, "interrupt-answered")];
    expect(await deliver(device, await keep(), "filer")).toMatchObject({
      state: "dropped",
      words: expect.stringContaining("answered elsewhere"),
    });
    expect(await unsentRows(device)).toEqual([]);
  });

  test("waits while another device holds the claim", async () => {
    const claimed = { device_id: "Firefox on Mac (1234)", expires_at: new Date(Date.now() + 60_000).toISOString() };
    answers = [problem(409, "interrupt-claimed", { claim: claimed })];
    const delivery = await deliver(device, await keep(), "filer");
    expect(delivery).toMatchObject({
      state: "unsent",
      words: expect.stringContaining("Firefox on Mac (1234)"),
      again: Date.parse(claimed.expires_at),
    });
  });

  test("that the server does not take is replaced with an error, once", async () => {
    answers = [problem(422, "answer-shape"), { status: 200, body: {} }];
    expect(await deliver(device, await keep(), "filer")).toMatchObject({ state: "dropped" });
    expect(sent[1]!.body["command"].resume.i1.tool_results[0].error).toMatchObject({
      code: "failed",
      message: expect.stringContaining("answer-shape"),
    });
    expect(await unsentRows(device)).toEqual([]);
  });

  test("is sent later when the thread is busy", async () => {
    answers = [problem(409, "thread-busy")];
    expect(await deliver(device, await keep(), "filer")).toMatchObject({ state: "unsent" });
  });
});

describe("a claim", () => {
  test("is remembered, and taken up again after the page was closed", async () => {
    answers = [
      { status: 200, body: { claim_id: "c1" } },
      { status: 200, body: { claim_id: "c1" } },
    ];
    expect(await claim(device, "t1", "i1")).toBe("c1");
    await claim(device, "t1", "i1");
    expect(sent.map((each) => each.body["claim_id"])).toEqual([undefined, "c1"]);
    expect(sent[0]!.body["device_id"]).toMatch(/^Chrome on Linux \([0-9a-f]{4}\)$/);
    expect(sent[1]!.body["device_id"]).toBe(sent[0]!.body["device_id"]);
  });

  test("that is gone is claimed anew", async () => {
    answers = [
      { status: 200, body: { claim_id: "c1" } },
      problem(409, "interrupt-claimed"),
      { status: 200, body: { claim_id: "c2" } },
    ];
    await claim(device, "t1", "i1");
    expect(await claim(device, "t1", "i1")).toBe("c2");
  });

  test.each([
    [410, "interrupt-gone", {}, GoneError],
    [404, "not-found", {}, GoneError],
    [409, "resume", { interrupt_ids: ["other"] }, GoneError],
    [409, "resume", { interrupt_ids: ["i1"] }, ApiError],
    [409, "interrupt-claimed", { claim: { device_id: "x", expires_at: "2026-01-01T00:00:00Z" } }, HeldError],
    [503, "not-ready", {}, ApiError],
  ])("a refusal with %s %s %o is read", (status, kind, more, expected) => {
    expect(readRefusal(new ApiError(status, "no", `urn:stepwell:problem:${kind}`, more), "i1", "me")).toBeInstanceOf(
      expected,
    );
  });

  test("names the browser and the system", () => {
    expect(describeBrowser("Mozilla/5.0 (iPhone; CPU iPhone OS 17) AppleWebKit Version/17 Safari/604")).toBe(
      "Safari on iPhone",
    );
  });
});
