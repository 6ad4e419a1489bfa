import { describe, expect, it } from "vitest";
import type { WireMessage } from "../api";
import { emptyView, reduce } from "../state/reduce";
import type { ThreadView } from "../state/types";
import { TurnMaker } from "./turns";

const MESSAGES: WireMessage[] = [
  { type: "human", id: "q1", content: "one" },
  { type: "ai", id: "a1", content: "", tool_calls: [{ id: "c1", name: "ls", args: {} }] },
  { type: "tool", id: "t1", content: "a.md", tool_call_id: "c1" },
  { type: "ai", id: "a2", content: "", tool_calls: [{ id: "c2", name: "read_file", args: {} }] },
  { type: "tool", id: "t2", content: "text", tool_call_id: "c2" },
  { type: "ai", id: "a3", content: "done" },
  { type: "human", id: "q2", content: "two" },
];
const load = (messages: WireMessage[]) => reduce(emptyView("t"), { type: "snapshot", snapshot: { messages } });
const shape = (view: ThreadView, maker = new TurnMaker()) =>
  maker
    .make(view, [])
    .map((turn) => [
      turn.key,
      turn.items.map((item) => (item.kind === "text" ? item.message.text : item.steps.map((step) => step.name))),
    ]);

describe("TurnMaker", () => {
  it("groups calls that follow each other, and begins a turn with each question", () => {
    expect(shape(load(MESSAGES))).toEqual([
      ["q1", [["ls", "read_file"], "done"]],
      ["q2", []],
    ]);
  });

  it("leaves out the skills that a run was told to use", () => {
    const skill = { type: "human", id: "s", content: "<skill>", additional_kwargs: { lc_source: "pinned_skill" } };
    const messages = [MESSAGES[0]!, skill, { type: "ai", id: "a", content: "done" }];
    expect(shape(load(messages))).toEqual([["q1", ["done"]]]);
  });

  it("begins anew after what an agent was told, and knows whose calls they are", () => {
    const told = { type: "human", id: "f", content: "More.", additional_kwargs: { lc_source: "rubric_grader" } };
    const again = { type: "ai", id: "a4", content: "", tool_calls: [{ id: "c4", name: "Age", args: {} }] };
    const [turn] = new TurnMaker().make(load([...MESSAGES.slice(0, 5), told, again]), []);
    expect(turn!.items.map((item) => item.kind === "steps" && item.messageIds)).toEqual([["a1", "a2"], ["a4"]]);
  });

  it("knows what was refused, and what pictures came back", () => {
    const image = { type: "image", base64: "AAAA", mime_type: "image/png" };
    const { steps } = load([
      MESSAGES[0]!,
      MESSAGES[1]!,
      {
        type: "tool",
        id: "t1",
        content: "no",
        tool_call_id: "c1",
        status: "error",
        additional_kwargs: { stepwell_refused: true },
      },
      MESSAGES[3]!,
      { type: "tool", id: "t2", content: [{ type: "text", text: "(a picture)" }, image], tool_call_id: "c2" },
    ]);
    expect(steps.map((step) => [step.refused ?? false, step.pictures?.length ?? 0])).toEqual([
      [true, 0],
      [false, 1],
    ]);
  });

  it("keeps earlier turns as the same objects while the last one grows", () => {
    const maker = new TurnMaker();
    const view = load(MESSAGES);
    const first = maker.make(view, [])[0];
    const chunk = [{ type: "AIMessageChunk", id: "a4", content: "Hel" }, {}];
    const next = reduce(view, { type: "events", events: [{ seq: 1, event: "messages", data: chunk, at: 0 }] });
    const turns = maker.make(next, []);
    expect(turns[0]).toBe(first);
    expect(turns[1]!.items.map((item) => item.key)).toEqual(["a4"]);
  });

  it("gives the same as a new maker, whatever came before", () => {
    const maker = new TurnMaker();
    for (let end = 1; end <= MESSAGES.length; end++)
      expect(shape(load(MESSAGES.slice(0, end)), maker)).toEqual(shape(load(MESSAGES.slice(0, end))));
    expect(shape(load(MESSAGES.slice(0, 3)), maker)).toEqual(shape(load(MESSAGES.slice(0, 3))));
  });

  it("puts a graph's nodes into the turn of their run, before what they wrote", () => {
    const events = [
      { seq: 1, event: "metadata", data: { run_id: "r1" }, at: 0 },
      { seq: 2, event: "tasks", data: { id: "n1", name: "thinker", input: {} }, at: 0 },
      { seq: 3, event: "tasks", data: { id: "n1", name: "thinker", result: {}, error: null, interrupts: [] }, at: 5 },
      { seq: 4, event: "end", data: { run_id: "r1", status: "success", paused: true }, at: 6 },
      { seq: 5, event: "metadata", data: { run_id: "r2" }, at: 7 },
      { seq: 6, event: "tasks", data: { id: "n2", name: "writer", input: {} }, at: 8 },
      { seq: 7, event: "messages", data: [{ type: "ai", id: "a", content: "report" }, {}], at: 9 },
    ];
    let view = reduce(emptyView("t"), { type: "sent", message: { type: "human", id: "q", content: "?" }, runId: "r1" });
    view = reduce(view, { type: "events", events });
    expect(shape(view)).toEqual([["q", [["thinker", "writer"], "report"]]]);
  });
});
