// Every call of the JavaScript SDK's `Client`. A public method that no test asked for fails the last line of each test.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { HI, LONG, client, collect, newThread, rejected, url } from "./shared.mjs";

// `threads.stream` is another protocol: commands and events of version 3; not part of this proof.
const NOT_DRIVEN = { threads: ["stream"] };

function recording(noun) {
  const part = client[noun];
  const called = new Set();
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter((name) => name !== "constructor");
  const recorded = new Proxy(part, {
    get(target, name) {
      called.add(name);
      return target[name].bind(target);
    },
  });
  const missing = () => methods.filter((name) => !called.has(name));
  return [recorded, () => assert.deepEqual(missing(), NOT_DRIVEN[noun] ?? [])];
}

test("every call of assistants", async () => {
  const [assistants, complete] = recording("assistants");
  const team = randomUUID();
  const made = await assistants.create({ graphId: "nested", name: "Dry", metadata: { team }, config: { tags: ["t"] } });
  assert.deepEqual(await assistants.get(made.assistant_id), made);
  assert.equal((await assistants.get("nested")).metadata.created_by, "system");
  const changed = await assistants.update(made.assistant_id, { name: "Dryer", metadata: { year: 1 } });
  assert.deepEqual([changed.version, changed.name], [2, "Dryer"]);
  assert.deepEqual((await assistants.getVersions(made.assistant_id)).map((each) => each.version), [2, 1]);
  assert.equal((await assistants.setLatest(made.assistant_id, 1)).name, "Dry");
  const page = await assistants.search({ metadata: { team }, includePagination: true });
  assert.deepEqual(page.assistants.map((each) => each.assistant_id), [made.assistant_id]);
  assert.equal(page.next, null);
  assert.equal((await assistants.search({ limit: 2, includePagination: true })).next, "2");
  assert.equal(await assistants.count({ metadata: { team } }), 1);
  assert.ok((await assistants.getSchemas("nested")).state_schema.properties.messages);
  assert.ok((await assistants.getGraph("nested", { xray: true })).nodes.some((node) => node.id.includes("tick")));
  assert.deepEqual(Object.keys(await assistants.getSubgraphs("nested", { recurse: true })), ["inner"]);
  assert.deepEqual(Object.keys(await assistants.getSubgraphs("nested", { namespace: "inner" })), ["inner"]);
  await assistants.delete(made.assistant_id, { deleteThreads: true });
  assert.equal((await rejected(assistants.get(made.assistant_id))).status, 404);
  complete();
});

test("every call of threads", async () => {
  const [threads, complete] = recording("threads");
  const mark = randomUUID();
  const { thread_id } = await threads.create({ metadata: { mark }, ttl: 60 });
  await client.runs.wait(thread_id, "nested", { input: { ...HI, count: 1 } });
  assert.equal((await threads.get(thread_id)).metadata.graph_id, "nested");
  assert.equal((await threads.update(thread_id, { metadata: { b: 2 } })).metadata.mark, mark);
  assert.equal(await threads.update(thread_id, { metadata: { c: 3 }, returnMinimal: true }), undefined);
  await threads.patchState(thread_id, { d: 4 });
  assert.equal((await threads.get(thread_id)).metadata.d, 4);
  const found = await threads.search({ metadata: { mark }, sortBy: "updated_at", extract: { last: "values.log[-1]" } });
  assert.deepEqual(found.map((each) => [each.thread_id, each.extracted.last]), [[thread_id, "answered"]]);
  assert.equal(await threads.count({ metadata: { mark } }), 1);

  const state = await threads.getState(thread_id, undefined, { subgraphs: true });
  const history = await threads.getHistory(thread_id, { limit: 20 });
  assert.deepEqual(history[0].checkpoint, state.checkpoint);
  const older = await threads.getHistory(thread_id, { before: { configurable: history[1].checkpoint } });
  assert.deepEqual(older[0].checkpoint, history[2].checkpoint);
  const { checkpoint } = await threads.updateState(thread_id, { values: { data: { by: "hand" } }, asNode: "inner" });
  assert.deepEqual((await threads.getState(thread_id, checkpoint)).values.data, { by: "hand" });
  assert.deepEqual((await threads.getState(thread_id, checkpoint.checkpoint_id)).values.data, { by: "hand" });
  const copy = await threads.copy(thread_id);
  assert.deepEqual((await threads.getState(copy.thread_id)).values, (await threads.getState(thread_id)).values);

  for await (const part of threads.joinStream(thread_id, { lastEventId: "-1", streamMode: ["lifecycle"] })) {
    if (part.event === "end") break;
  }
  assert.deepEqual(await threads.prune([copy.thread_id]), { pruned_count: 1 });
  await threads.delete(thread_id);
  assert.equal(await threads.count({ metadata: { mark } }), 0);
  complete();
});

test("a thread is made with a past", async () => {
  const supersteps = [
    { updates: [{ values: HI, asNode: "__start__" }] },
    { updates: [{ values: { log: ["x"] }, asNode: "hear" }] },
  ];
  const thread = await client.threads.create({ graphId: "echo", supersteps, ifExists: "raise", threadId: randomUUID() });
  assert.deepEqual((await client.threads.getState(thread.thread_id)).next, ["answer"]);
});

test("every call of runs", async () => {
  const [runs, complete] = recording("runs");
  const threadId = await newThread();
  const asked = await runs.wait(threadId, "asks", { input: HI });
  const resume = { [asked.__interrupt__[0].id]: "this" };
  let created;
  const onRunCreated = (run) => (created = run);
  const parts = await collect(runs.stream(threadId, "asks", { command: { resume }, onRunCreated }));
  assert.deepEqual(created, { run_id: parts[0].data.run_id, thread_id: threadId });
  assert.deepEqual(parts.findLast((part) => part.event === "values").data.log, ["heard", "told this", "answered"]);
  const rest = await collect(runs.joinStream(threadId, created.run_id, { lastEventId: parts[1].id }));
  assert.deepEqual(rest, parts.slice(2));

  const long = await runs.create(threadId, "ticks", { input: LONG, metadata: { why: "test" } });
  const queued = await runs.create(threadId, "echo", { input: HI });
  await runs.cancel(threadId, long.run_id, true);
  assert.equal((await runs.join(threadId, queued.run_id)).log.at(-1), "answered");
  assert.equal((await runs.get(threadId, long.run_id)).status, "interrupted");
  const listed = await runs.list(threadId, { limit: 2, select: ["run_id", "status"] });
  assert.deepEqual(listed, [
    { run_id: queued.run_id, status: "success" },
    { run_id: long.run_id, status: "interrupted" },
  ]);
  await runs.delete(threadId, queued.run_id);
  assert.equal((await rejected(runs.get(threadId, queued.run_id))).status, 404);

  const batch = await runs.createBatch([1, 2].map(() => ({ assistantId: "ticks", input: LONG, on_completion: "keep" })));
  await runs.cancelMany({ threadId: batch[0].thread_id, runIds: [batch[0].run_id], action: "interrupt" });
  await runs.cancelMany({ threadId: batch[1].thread_id, status: "all" });
  for (const { thread_id, run_id } of batch) {
    await runs.join(thread_id, run_id);
    assert.equal((await runs.get(thread_id, run_id)).status, "interrupted");
  }
  complete();
});

test("every call of store", async () => {
  const [store, complete] = recording("store");
  const space = ["people", randomUUID()];
  await store.putItem(space, "likes", { drink: "tea" }, { index: false, ttl: 60 });
  const item = await store.getItem(space, "likes", { refreshTtl: true });
  assert.deepEqual([item.value, item.namespace], [{ drink: "tea" }, space]);
  assert.ok(Date.parse(item.createdAt) <= Date.now());
  const { items } = await store.searchItems(space, { filter: { drink: "tea" } });
  assert.deepEqual(items.map((each) => each.key), ["likes"]);
  assert.deepEqual((await store.listNamespaces({ prefix: space })).namespaces, [space]);
  await store.deleteItem(space, "likes");
  assert.equal(await store.getItem(space, "likes"), null);
  complete();
});

test("refusals have a status and a sentence", async () => {
  const threadId = await newThread();
  const refusals = {
    404: () => client.runs.create(threadId, "nobody", { input: HI }),
    409: () => client.runs.create(threadId, "asks", { command: { resume: "yes" } }),
    422: () => client.threads.get("not-a-uuid"),
  };
  for (const [status, ask] of Object.entries(refusals)) {
    const error = await rejected(ask());
    assert.equal(error.status, Number(status));
    const body = JSON.parse(error.text);
    assert.equal(body.status, Number(status));
    assert.ok(body.detail.length > 10, body.detail);
  }
  const failed = await rejected(client.runs.wait(threadId, "fails", { input: HI }));
  assert.equal(failed.message, "ValueError: the node fell over");
  const kept = await client.runs.wait(threadId, "fails", { input: HI, raiseError: false });
  assert.equal(kept.__error__.error, "ValueError");
});

test("a key that nobody asked for does no harm", async () => {
  const withKey = new Client({ apiUrl: url, apiKey: "anything", defaultHeaders: { "X-Api-Key": "" } });
  assert.ok((await withKey.assistants.search({ limit: 1 })).length === 1);
});
