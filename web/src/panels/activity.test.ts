import { describe, expect, it } from "vitest";
import type { JsonObject } from "../lib/json";
import type { Step } from "../state/types";
import { durationWords, linesOf, sentenceOf } from "./activity";

let next = 0;
const step = (name: string, args: JsonObject = {}, more: Partial<Step> = {}): Step => ({
  id: `s${next++}`,
  kind: "tool",
  name,
  status: "done",
  namespace: "",
  runId: null,
  toolCallId: null,
  args,
  result: null,
  error: null,
  startedAt: 1000,
  endedAt: 2200,
  inputTokens: null,
  outputTokens: null,
  costUsd: null,
  model: null,
  agentKey: null,
  ...more,
});
const told = (...steps: Step[]) =>
  linesOf(steps).map((line) => [sentenceOf(line), durationWords(line.ms)].filter(Boolean).join(" · "));

describe("linesOf", () => {
  it("joins like steps and names their hosts", () => {
    const pages = [
      "https://quellmouth.example/a",
      "https://quellmouth.example/b",
      "https://www.other.example/",
      "https://third.example/",
    ];
    expect(told(...pages.map((url) => step("fetch_page", { url })))).toEqual([
      "Read 4 pages of quellmouth.example and two others · 1.2 s",
    ]);
  });

  it("tells what is under way in the present, without a time", () => {
    expect(told(step("web_search", { query: "bridge" }, { status: "running", endedAt: null }))).toEqual([
      "Searching the web for “bridge”",
    ]);
  });

  it("does not join what failed with what went well", () => {
    expect(
      told(step("read_file", { file_path: "/a" }), step("read_file", { file_path: "/b" }, { status: "failed" })),
    ).toHaveLength(2);
  });

  it("tells of background tasks", () => {
    const digger = { description: "Dig here.", subagent_type: "digger" };
    const none = { startedAt: null };
    expect(
      told(
        step("start_async_task", digger, none),
        step("update_async_task", { task_id: "x1", message: "Deeper." }, none),
        step("check_async_task", { task_id: "x1" }, none),
        step("cancel_async_task", { task_id: "x1" }, none),
        step("list_async_tasks", {}, none),
      ),
    ).toEqual([
      "Started digger in the background: Dig here.",
      "Sent to a background task: Deeper.",
      "Checked on a background task",
      "Stopped a background task",
      "Checked the background tasks",
    ]);
  });

  it("says of a write that was refused that nothing was written", () => {
    expect(told(step("write_file", { file_path: "/note.md" }, { status: "failed" }))).toEqual([
      "Not written: /note.md · 1.2 s",
    ]);
  });

  it("says of a call that was refused that it did not run", () => {
    const refused = { status: "failed", refused: true, startedAt: null } as const;
    expect(
      told(
        step("read_file", { file_path: "/secrets/key.txt" }, { status: "failed", startedAt: null }),
        step("send_mail", { to: "ada@example.org" }, refused),
        step("execute", { command: "rm x" }, refused),
        step("execute", { command: "make" }, { status: "failed", startedAt: null }),
      ),
    ).toEqual(["Not read: /secrets/key.txt", "Not run: send mail ada@example.org", "Not run: rm x", "Ran make"]);
  });

  it("says of a call whose question was declined that it was declined", () => {
    expect(told(step("book", { city: "Rome" }, { status: "cancelled", declined: true, startedAt: null }))).toEqual([
      "Declined: book Rome",
    ]);
  });

  it("says which tools were looked for, which skill was read and which picture was looked at", () => {
    const untimed = { startedAt: null };
    expect(
      told(
        step("tool_search", { query: "select:book" }, untimed),
        step("read_file", { file_path: "/skills/letters/SKILL.md" }, untimed),
        step("ls", { path: "/" }, untimed),
        step("read_file", { file_path: "/photos/rome.png" }, untimed),
      ),
    ).toEqual(["Looked for tools: book", "Read the skill letters", "Listed a folder /", "Looked at rome.png"]);
  });

  it("says what was deleted and moved", () => {
    expect(told(step("delete", { file_path: "/a.md" }))).toEqual(["Deleted /a.md · 1.2 s"]);
    expect(told(step("move", { source: "/a.md", destination: "/b.md" }))).toEqual(["Moved /a.md to /b.md · 1.2 s"]);
    expect(told(step("delete", { file_path: "/a.md" }, { status: "failed" }))[0]).toMatch(/^Not deleted: \/a.md/);
  });

  it("says nothing of model calls and of nodes that mean nothing to a person", () => {
    expect(
      told(
        step("model", {}, { kind: "node" }),
        step("gpt", {}, { kind: "model" }),
        step("auditor", {}, { kind: "node" }),
      ),
    ).toEqual(["Checked the plan against the policy · 1.2 s"]);
  });

  it("names a tool that it does not know, with its first text", () => {
    expect(told(step("send_mail", { count: 2, to: "ann", body: "x\n\ny" }))).toEqual(["Ran send mail ann · 1.2 s"]);
  });

  it("tells which subagent works and on what", () => {
    expect(
      told(step("researcher", { description: "What is a stepwell?" }, { kind: "subagent", status: "running" })),
    ).toEqual(["researcher is working What is a stepwell?"]);
  });

  it("takes no time from steps that have none", () => {
    expect(told(step("ls", { path: "/" }, { startedAt: null, endedAt: null }))).toEqual(["Listed a folder /"]);
  });

  it("lets nodes speak in their own words, each in its time", () => {
    const gate = (startedAt: number, endedAt: number) => step("hitl_gate", {}, { kind: "node", startedAt, endedAt });
    const steps = [
      gate(1_000, 9_000),
      gate(20_000, 29_000),
      step("source_review", {}, { kind: "node", startedAt: 40_000, endedAt: 40_001 }),
    ];
    const said = [
      { node: "hitl_gate", summary: "You edited the plan; it is checked again.", thought: "", at: 8_990 },
      { node: "hitl_gate", summary: "You approved the plan.", thought: "why", at: 28_990 },
      { node: "hitl_gate", summary: "Of another question.", thought: "", at: 90_000 },
    ];
    const lines = linesOf(steps, said);
    expect(lines.map(sentenceOf)).toEqual(["You edited the plan", "You approved the plan"]);
    expect(lines.map((line) => line.more)).toEqual(["it is checked again.", "why"]);
    expect(linesOf(steps, said.slice(2))).toEqual([]);
  });

  it("shows a node that reports an error as failed, whatever its step says", () => {
    const run = step("tool_executor", {}, { kind: "node", startedAt: 1_000, endedAt: 2_000 });
    const said = [
      { node: "tool_executor", summary: "Error: No engine answered. Retry later.", thought: "", at: 1_990 },
    ];
    const [line] = linesOf([run], said);
    expect(line).toMatchObject({ status: "failed", lead: "No engine answered", more: "Retry later." });
  });
});
