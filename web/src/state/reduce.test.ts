// On event logs that a real server told (tests/fixtures/page, made by scripts/record_events.py).

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WireInterrupt, WireMessage } from "../api";
import { emptyView, reduce, type Snapshot } from "./reduce";
import type { RunStatus, StreamEvent, ThreadView } from "./types";

interface Recording {
  thread_id: string;
  graph_id: string;
  events: StreamEvent[];
  state: { values: Record<string, unknown> & { messages: WireMessage[] }; interrupts: WireInterrupt[] };
}

function load(name: string): Recording {
  const recording = JSON.parse(
    readFileSync(new URL(`../../../tests/fixtures/page/${name}.json`, import.meta.url), "utf8"),
  ) as Recording;
  return { ...recording, events: recording.events.map((event) => ({ ...event, at: event.seq * 10 })) };
}

function play(recording: Recording, events = recording.events, from = begin(recording)): ThreadView {
  return reduce(from, { type: "events", events });
}

const question = (recording: Recording): WireMessage => recording.state.values.messages[0]!;

/** As this page is after the person's message was sent. */
function begin(recording: Recording): ThreadView {
  const view = reduce(emptyView(recording.thread_id), { type: "snapshot", snapshot: { graphId: recording.graph_id } });
  return reduce(view, { type: "sent", message: question(recording) });
}

/** What a person sees; when something happened is not told by a reload. */
function shown(view: ThreadView) {
  const strip = <T extends { runId: unknown }>({ runId: _, ...rest }: T) => rest;
  const steps = view.steps.map(({ startedAt: _, endedAt: __, ...step }) => strip(step));
  return {
    ...view,
    messages: view.messages.map(strip),
    steps,
    runs: view.runs.at(-1)?.status,
    lastSeq: 0,
    checkpointId: null,
  };
}

/** What the server would say if it were asked after `count` events (what steps have written until then), and the turn's events so far. */
function serverAfter(recording: Recording, count: number): { snapshot: Snapshot; replay: StreamEvent[] } {
  const past = recording.events.slice(0, count);
  const messages = new Map<string, WireMessage>([[question(recording).id!, question(recording)]]);
  const values: Record<string, unknown> = {};
  let interrupts: WireInterrupt[] = [];
  let lastRun: Snapshot["lastRun"] = null;
  past.forEach((event) => {
    if (event.event === "metadata") {
      interrupts = [];
      lastRun = { runId: (event.data as { run_id: string }).run_id, status: "running" };
    }
    if (event.event === "end")
      lastRun = { runId: lastRun!.runId, status: (event.data as { status: RunStatus }).status };
    if (event.event !== "updates") return;
    for (const [node, update] of Object.entries(
      event.data as Record<string, { messages?: WireMessage[] } | WireInterrupt[] | null>,
    )) {
      if (node === "__interrupt__") interrupts = update as WireInterrupt[];
      else if (update && !Array.isArray(update))
        for (const message of update.messages ?? []) messages.set(message.id!, message);
      if (update && "todos" in update) values["todos"] = update.todos;
    }
  });
  const order = recording.state.values.messages.filter((message) => messages.has(message.id!));
  return {
    snapshot: {
      graphId: recording.graph_id,
      messages: order.map((message) => messages.get(message.id!)!),
      values,
      interrupts,
      lastRun,
    },
    replay: past,
  };
}

describe.each(["writer", "worker", "team", "fails"])("the recording of %s", (name) => {
  const recording = load(name);

  it("ends in what the server has", () => {
    const view = play(recording);
    const { values } = recording.state;
    const texts = values.messages.map((message) => [message.id, message.content]);
    expect(view.messages.map((message) => [message.id, message.text])).toEqual(texts);
    expect(view.todos).toEqual(values["todos"] ?? []);
    const files = (values["files"] ?? {}) as Record<string, { content: string[] }>;
    expect(Object.fromEntries(Object.entries(view.files).map(([path, file]) => [path, file.text]))).toEqual(
      Object.fromEntries(Object.entries(files).map(([path, file]) => [path, file.content.join("\n")])),
    );
    expect(view.waiting).toEqual([]);
    expect(view.steps.filter((step) => step.status === "running")).toEqual([]);
    expect(view.messages.filter((message) => message.status === "streaming")).toEqual([]);
  });

  it("is the same when every event comes twice", () => {
    const twice = recording.events.flatMap((event) => [event, event]);
    expect(play(recording, twice)).toEqual(play(recording));
    expect(play(recording, recording.events, play(recording))).toEqual(play(recording));
  });

  it("is the same however events are bundled", () => {
    const singly = recording.events.reduce((view, event) => play(recording, [event], view), begin(recording));
    expect(singly).toEqual(play(recording));
  });

  it("shows after a reload at any point what it would show without", () => {
    for (let count = 1; count <= recording.events.length; count++) {
      const { snapshot, replay } = serverAfter(recording, count);
      const loaded = reduce(emptyView(recording.thread_id), { type: "snapshot", snapshot });
      const reloaded = play(recording, replay, loaded);
      const never = play(recording, recording.events.slice(0, count));
      const ended = (view: ThreadView) => play(recording, recording.events.slice(count), view);
      expect(shown(ended(reloaded)).messages, `after ${count} events`).toEqual(shown(ended(never)).messages);
      expect(shown(reloaded).messages, `at ${count}`).toEqual(shown(never).messages);
      expect(shown(reloaded).steps, `steps at ${count}`).toEqual(shown(never).steps);
      expect(shown(reloaded).waiting, `waiting at ${count}`).toEqual(shown(never).waiting);
      expect(shown(reloaded).agents, `agents at ${count}`).toEqual(shown(never).agents);
      expect([reloaded.phase, reloaded.todos, reloaded.files], `state at ${count}`).toEqual([
        never.phase,
        never.todos,
        never.files,
      ]);
    }
  });
});

describe("reduce", () => {
  it("shows text as it comes, and what was thought before it", () => {
    const recording = load("writer");
    const half = play(recording, recording.events.slice(0, 20));
    expect(half.phase).toBe("streaming");
    expect(half.messages.at(-1)!.status).toBe("streaming");
    expect(half.messages.at(-1)!.text.length).toBeGreaterThan(10);
  });

  it("names the subagent that asks", () => {
    const recording = load("team");
    const asked = recording.events.findIndex((event) => event.event === "end");
    const view = play(recording, recording.events.slice(0, asked + 1));
    expect(view.phase).toBe("waiting");
    expect(view.waiting.map((each) => each.asker)).toEqual(["researcher"]);
    expect(Object.values(view.agents).map((agent) => [agent.name, agent.status])).toEqual([
      ["researcher", "waiting"],
      ["checker", "done"],
    ]);
  });

  it("keeps the text of a run that was stopped, marked as such", () => {
    const recording = load("writer");
    const end = {
      seq: 900,
      event: "end",
      data: { run_id: (recording.events[0]!.data as { run_id: string }).run_id, status: "interrupted" },
      at: 0,
    };
    const view = play(recording, [...recording.events.slice(0, 30), end]);
    expect([view.phase, view.messages.at(-1)!.status]).toEqual(["cancelled", "stopped"]);
  });

  it("drops text that no checkpoint held when a run is driven again", () => {
    const recording = load("writer");
    const run_id = (recording.events[0]!.data as { run_id: string }).run_id;
    const again = { seq: 800, event: "metadata", data: { run_id, attempt: 2 }, at: 0 };
    const view = play(recording, [...recording.events.slice(0, 30), again]);
    expect(view.messages.map((message) => message.role)).toEqual(["user"]);
  });

  it("keeps an event that it does not know, and goes on", () => {
    const recording = load("writer");
    const odd = { seq: 1, event: "weather|x:1", data: { rain: true }, at: 0 };
    const events = [odd, ...recording.events.map((event) => ({ ...event, seq: event.seq + 1 }))];
    const view = play(recording, events);
    expect(view.unknown).toEqual([{ seq: 1, event: "weather|x:1", data: '{"rain":true}' }]);
    expect(view.messages).toHaveLength(2);
  });

  it.each([
    null,
    5,
    "x",
    [],
    {},
    { run_id: 3 },
    [null],
    [{ id: 1 }],
    { __interrupt__: 3 },
    { toolCallId: {} },
    { namespace: 4 },
  ])("survives %j as the data of any event", (data) => {
    const names = [
      "metadata",
      "messages",
      "updates",
      "values",
      "tools",
      "tasks",
      "lifecycle",
      "error",
      "end",
      "custom",
      "messages/partial",
    ];
    let view = emptyView("t");
    names.forEach(
      (event, at) => (view = reduce(view, { type: "events", events: [{ seq: at + 1, event, data, at: 0 }] })),
    );
    expect(view.lastSeq).toBe(names.length);
  });

  it("puts a message that entered a run behind what the run did before", () => {
    const human = (id: string, more = {}) => ({ type: "human", id, content: id, ...more });
    const steered = human("s", { additional_kwargs: { stepwell_steered: true } });
    const asked = { type: "ai", id: "a", content: "", tool_calls: [{ id: "c", name: "walk", args: {} }] };
    const events = [
      { seq: 1, event: "metadata", data: { run_id: "r" }, at: 0 },
      { seq: 2, event: "updates", data: { model: { messages: [asked] } }, at: 0 },
      { seq: 3, event: "custom", data: { type: "steered", messages: [steered] }, at: 0 },
    ];
    const view = reduce(emptyView("t"), { type: "sent", message: human("q"), runId: "r" });
    expect(reduce(view, { type: "events", events }).messages.map((each) => each.id)).toEqual(["q", "a", "s"]);
  });

  it("says nothing of a run that was taken back before it began", () => {
    const run = (seq: number, event: string, data: object) => ({ seq, event, data, at: 0 });
    const events = [
      run(1, "metadata", { run_id: "r" }),
      run(2, "end", { run_id: "queued", status: "interrupted" }),
      run(3, "end", { run_id: "r", status: "success" }),
    ];
    expect(reduce(emptyView("t"), { type: "events", events }).phase).toBe("done");
    expect(reduce(emptyView("t"), { type: "events", events: events.slice(0, 2) }).phase).toBe("streaming");
    const last = [events[0]!, { ...events[2]!, seq: 2 }, { ...events[1]!, seq: 3 }];
    expect(reduce(emptyView("t"), { type: "events", events: last }).phase).toBe("done");
  });

  it("drops what it has shown of an answer that is asked for again or replaced by a check", () => {
    const piece = (seq: number, id: string, content: string) => ({
      seq,
      event: "messages",
      data: [{ type: "AIMessageChunk", id, content }, {}],
      at: 0,
    });
    const dropped = { type: "model_retry", message_id: "a", reason: "checked" };
    const events = [
      piece(1, "a", "the secret"),
      { seq: 2, event: "custom", data: dropped, at: 0 },
      piece(3, "a-checked", "other"),
    ];
    const view = reduce(emptyView("t"), { type: "events", events });
    expect([view.messages.map((each) => each.id), view.unknown]).toEqual([["a-checked"], []]);
  });

  it("puts an earlier page in front, once", () => {
    const message = (id: string): WireMessage => ({ type: "human", id, content: id });
    let view = reduce(emptyView("t"), {
      type: "snapshot",
      snapshot: { messages: [message("c"), message("d")], before: "p1" },
    });
    view = reduce(view, { type: "earlier", messages: [message("a"), message("b"), message("c")], before: null });
    expect([view.messages.map((each) => each.id), view.before]).toEqual([["a", "b", "c", "d"], null]);
  });

  it("puts a question that is heard of late before its answer", () => {
    const recording = load("writer");
    const run_id = (recording.events[0]!.data as { run_id: string }).run_id;
    const other = play(recording, recording.events.slice(0, 9), emptyView(recording.thread_id));
    const view = reduce(other, { type: "sent", message: question(recording), runId: run_id });
    expect(view.messages.map((message) => message.role)).toEqual(["user", "agent"]);
  });
});

it("knows from the server's own mark that a message was stopped", () => {
  const message: WireMessage = {
    type: "ai",
    id: "a",
    content: "half",
    response_metadata: { finish_reason: "cancelled" },
  };
  expect(reduce(emptyView("t"), { type: "snapshot", snapshot: { messages: [message] } }).messages[0]!.status).toBe(
    "stopped",
  );
});

it("a message stands once, also where the server took a later one before it", () => {
  const message = (id: string, type = "human"): WireMessage => ({ type, id, content: id });
  let view = emptyView("t");
  for (const id of ["first", "second"]) view = reduce(view, { type: "sent", message: message(id) });
  view = reduce(view, {
    type: "snapshot",
    snapshot: { messages: [message("second"), message("b", "ai"), message("first"), message("a", "ai")] },
  });
  expect(view.messages.map(({ id }) => id)).toEqual(["second", "b", "first", "a"]);
});

it("forgets another branch, but not the text that streams now", () => {
  const message = (type: string, id: string): WireMessage => ({ type, id, content: id });
  let view = reduce(emptyView("t"), {
    type: "snapshot",
    snapshot: { messages: ["a", "b", "c"].map((id) => message("human", id)) },
  });
  view = reduce(view, {
    type: "events",
    events: [{ seq: 1, event: "messages", data: [message("AIMessageChunk", "d"), {}], at: 0 }],
  });
  view = reduce(view, { type: "snapshot", snapshot: { messages: [message("human", "a")], replaceMessages: true } });
  expect(view.messages.map((each) => each.id)).toEqual(["a", "d"]);
});

describe("step records", () => {
  const record = (number: number, name: string, status: "success" | "interrupted" = "success", run_id = "r") => ({
    number,
    run_id,
    kind: "node" as const,
    name,
    node: name,
    agent: null,
    namespace: [],
    call_id: null,
    started_at: "2026-11-15T12:00:00Z",
    duration_ms: 1500,
    status,
    error: null,
    input_tokens: null,
    output_tokens: null,
    cost_usd: null,
  });
  const tasks = [
    { seq: 1, event: "metadata", data: { run_id: "r" }, at: 0 },
    { seq: 2, event: "tasks", data: { id: "n1", name: "thinker", input: {} }, at: 1 },
    { seq: 3, event: "tasks", data: { id: "n1", name: "thinker", result: {}, error: null, interrupts: [] }, at: 2 },
    { seq: 4, event: "tasks", data: { id: "n2", name: "gate", input: {} }, at: 3 },
    {
      seq: 5,
      event: "tasks",
      data: { id: "n2", name: "gate", result: {}, error: null, interrupts: [{ id: "i" }] },
      at: 4,
    },
  ];
  const names = (view: ThreadView) => view.steps.map((step) => [step.id, step.name, step.status]);
  const records = [record(1, "thinker"), record(2, "gate", "interrupted")];

  it("meet the nodes that events told of, whichever came first", () => {
    const expected = [
      ["n1", "thinker", "done"],
      ["n2", "gate", "waiting"],
    ];
    const events = { type: "events", events: tasks } as const;
    const told = { type: "records", records } as const;
    expect(names(reduce(reduce(emptyView("t"), events), told))).toEqual(expected);
    expect(names(reduce(reduce(emptyView("t"), told), events))).toEqual(expected);
    expect(names(reduce(reduce(reduce(emptyView("t"), told), events), told))).toEqual(expected);
  });

  it("keep their times when events are told again", () => {
    const told = reduce(reduce(emptyView("t"), { type: "records", records: [record(1, "thinker")] }), {
      type: "events",
      events: tasks,
    });
    expect(told.steps[0]!.endedAt).toBe(Date.parse("2026-11-15T12:00:01.500Z"));
  });

  it("join a try that was interrupted with the one that finished", () => {
    const view = reduce(emptyView("t"), { type: "records", records: [...records, record(3, "gate", "success", "r2")] });
    expect(view.steps.map((step) => [step.name, step.status])).toEqual([
      ["thinker", "done"],
      ["gate", "done"],
    ]);
    expect(reduce(view, { type: "records", records }).steps).toEqual(view.steps);
    const resumed = [
      { seq: 6, event: "end", data: { run_id: "r", status: "success", paused: true }, at: 5 },
      { seq: 7, event: "metadata", data: { run_id: "r2" }, at: 6 },
      { seq: 8, event: "tasks", data: { id: "n2", name: "gate", input: {} }, at: 7 },
      { seq: 9, event: "tasks", data: { id: "n2", name: "gate", result: {}, error: null, interrupts: [] }, at: 8 },
    ];
    const live = reduce(reduce(emptyView("t"), { type: "events", events: tasks }), { type: "records", records });
    const ended = reduce(reduce(live, { type: "events", events: resumed }), {
      type: "records",
      records: [record(3, "gate", "success", "r2")],
    });
    expect(names(ended)).toEqual([
      ["n1", "thinker", "done"],
      ["n2", "gate", "done"],
    ]);
  });
});
