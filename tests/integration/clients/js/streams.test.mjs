// `runs.stream` and `joinStream`: all modes, subgraphs, coming back, stopping, several at once, questions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageTupleManager, StreamManager } from "@langchain/langgraph-sdk/ui";
import { HI, LONG, client, collect, newThread, rejected } from "./shared.mjs";

const MODES = ["values", "updates", "messages-tuple", "custom", "debug", "tasks", "checkpoints", "events", "tools"];

test("all modes arrive, also of subgraphs", async () => {
  const input = { ...HI, count: 2 };
  const parts = await collect(client.runs.stream(await newThread(), "nested", { input, streamMode: MODES, streamSubgraphs: true }));
  const names = new Set(parts.map((part) => part.event.split("|")[0]));
  for (const name of ["metadata", "values", "updates", "messages", "custom", "debug", "tasks", "checkpoints", "events"]) {
    assert.ok(names.has(name), `${name} is not in ${[...names]}`);
  }
  assert.ok(parts.some((part) => /^updates\|inner:[0-9a-f-]+$/.test(part.event)));
  const ids = parts.filter((part) => part.id).map((part) => Number(part.id));
  assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b));
});

test("each mode alone brings its own events only", async () => {
  for (const streamMode of ["values", "updates", "custom", "debug", "tasks", "checkpoints", "events", "messages"]) {
    const parts = await collect(client.runs.stream(await newThread(), "nested", { input: HI, streamMode }));
    const names = new Set(parts.map((part) => part.event.split(/[|/]/)[0]));
    const expected = streamMode === "custom" ? ["metadata", "end"] : ["metadata", streamMode, "end"];
    assert.deepEqual([...names].filter((name) => name !== "end"), expected.filter((name) => name !== "end"), streamMode);
  }
});

test("the tools mode follows a tool call", async () => {
  const parts = await collect(client.runs.stream(await newThread(), "deep", { input: HI, streamMode: ["tools"] }));
  const told = parts.filter((part) => part.event === "tools").map((part) => part.data);
  assert.ok(told.some((each) => each.name === "task"), JSON.stringify(told));
});

test("a run that went on alone is told from every place, without a gap", async () => {
  const threadId = await newThread();
  const leaving = new AbortController();
  let run;
  const payload = { input: { count: 30, seconds: 0.01 }, streamMode: "custom", streamResumable: true, onDisconnect: "continue" };
  const seen = [];
  try {
    for await (const part of client.runs.stream(threadId, "ticks", {
      ...payload,
      signal: leaving.signal,
      onRunCreated: (created) => (run = created),
    })) {
      seen.push(part);
      if (seen.length === 5) leaving.abort();
    }
  } catch (error) {
    assert.equal(error.name, "AbortError");
  }
  const rest = await collect(client.runs.joinStream(threadId, run.run_id, { lastEventId: seen.at(-1).id }));
  const numbers = [...seen, ...rest].filter((part) => part.event === "custom").map((part) => part.data.n);
  assert.deepEqual(numbers, [...Array(30).keys()]);
  const whole = await collect(client.runs.joinStream(threadId, run.run_id, { lastEventId: "-1" }));
  assert.deepEqual(whole, [...seen, ...rest]);
  assert.equal((await client.runs.get(threadId, run.run_id)).status, "success");
});

test("a stream is cancelled by its reader, and by another", async () => {
  const threadId = await newThread();
  const run = await client.runs.create(threadId, "ticks", { input: LONG, streamMode: "custom" });
  const reading = collect(client.runs.joinStream(threadId, run.run_id));
  await client.runs.cancel(threadId, run.run_id, false, "interrupt");
  await reading;
  assert.equal((await client.runs.get(threadId, run.run_id)).status, "interrupted");
  assert.equal((await client.threads.get(threadId)).status, "interrupted");
});

test("a rolled back run leaves nothing behind", async () => {
  const threadId = await newThread();
  await client.runs.wait(threadId, "echo", { input: HI });
  const run = await client.runs.create(threadId, "ticks", { input: { ...LONG, log: ["gone"] } });
  await client.runs.cancel(threadId, run.run_id, true, "rollback");
  assert.deepEqual((await client.threads.getState(threadId)).values.log, ["heard", "answered"]);
});

test("a second message is queued, refused, or takes over", async () => {
  const threadId = await newThread();
  const first = await client.runs.create(threadId, "ticks", { input: LONG });
  const refused = await rejected(client.runs.create(threadId, "echo", { input: HI, multitaskStrategy: "reject" }));
  assert.equal(refused.status, 409);
  const taken = await client.runs.wait(threadId, "echo", { input: HI, multitaskStrategy: "interrupt" });
  assert.equal(taken.log.at(-1), "answered");
  assert.equal((await client.runs.get(threadId, first.run_id)).status, "interrupted");
  const second = await client.runs.create(threadId, "ticks", { input: { count: 5, seconds: 0.02 } });
  const queued = await client.runs.wait(threadId, "echo", { input: HI, multitaskStrategy: "enqueue" });
  assert.equal(queued.messages.length, 4);
  assert.equal((await client.runs.get(threadId, second.run_id)).status, "success");
  const third = await client.runs.create(threadId, "ticks", { input: LONG });
  await client.runs.wait(threadId, "echo", { input: HI, multitaskStrategy: "rollback" });
  assert.equal((await rejected(client.runs.get(threadId, third.run_id))).status, 404);
});

test("a question is asked in values and updates, and answered by a command", async () => {
  const threadId = await newThread();
  const parts = await collect(client.runs.stream(threadId, "asks", { input: HI, streamMode: ["values", "updates"] }));
  for (const event of ["values", "updates"]) {
    const asking = parts.find((part) => part.event === event && part.data.__interrupt__);
    assert.deepEqual(asking.data.__interrupt__[0].value, { question: "Which one?" });
  }
  assert.equal((await client.threads.get(threadId)).status, "interrupted");
  const answered = await collect(client.runs.stream(threadId, "asks", { input: null, command: { resume: "that" } }));
  assert.ok(answered.findLast((part) => part.event === "values").data.log.includes("told that"));
  assert.equal((await client.threads.get(threadId)).status, "idle");
});

test("interruptBefore stops there, and no input goes on", async () => {
  const threadId = await newThread();
  await client.runs.wait(threadId, "echo", { input: HI, interruptBefore: ["answer"] });
  assert.deepEqual((await client.threads.getState(threadId)).next, ["answer"]);
  const done = await client.runs.wait(threadId, "echo", { input: null });
  assert.deepEqual(done.log, ["heard", "answered"]);
});

test("runs without a thread stream and are forgotten", async () => {
  const parts = await collect(client.runs.stream(null, "echo", { input: HI, streamMode: "messages-tuple" }));
  const { thread_id } = parts[0].data.thread_id ? parts[0].data : { thread_id: null };
  assert.ok(parts.filter((part) => part.event === "messages").length > 2);
  if (thread_id) assert.equal((await rejected(client.threads.get(thread_id))).status, 404);
});

test("MessageTupleManager puts the pieces of a message together", async () => {
  const pieces = new MessageTupleManager();
  let id;
  for await (const part of client.runs.stream(await newThread(), "echo", { input: HI, streamMode: "messages-tuple" })) {
    if (part.event === "messages") id = pieces.add(...part.data);
  }
  const { chunk, metadata } = pieces.get(id);
  assert.equal(chunk.content, "You said: hi, I think");
  assert.equal(metadata.langgraph_node, "answer");
});

test("StreamManager keeps values and messages up to date", async () => {
  const manager = new StreamManager(new MessageTupleManager(), { throttle: false });
  const threadId = await newThread();
  const streamMode = ["values", "messages-tuple"];
  const lengths = [];
  manager.subscribe(() => lengths.push(manager.values?.messages?.at(-1)?.content?.length ?? 0));
  await manager.start(async () => client.runs.stream(threadId, "echo", { input: HI, streamMode }), {
    getMessages: (values) => values.messages ?? [],
    setMessages: (values, messages) => ({ ...values, messages }),
    initialValues: {},
    callbacks: {},
    onSuccess: () => null,
    onError: (error) => assert.fail(error),
  });
  assert.ok(new Set(lengths).size > 3, `the answer grew in pieces: ${lengths}`);
});
