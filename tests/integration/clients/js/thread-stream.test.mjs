// `client.threads.stream`: a run, its messages, values and tools, questions, subagents, an error; and the StreamController over it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { StreamController } from "@langchain/langgraph-sdk/stream";
import { HI, LONG, client, collect, newThread, rejected, until } from "./shared.mjs";

const SAID = "You said: hi, I think";

// The SDK stops reading at the end of a run, also for whoever has only begun: what is to be read is asked for before it starts.
async function started(thread, ...wanted) {
  const starting = thread.run.start({ input: HI });
  const reading = Promise.all(wanted.map((name) => collect(thread[name])));
  const { run_id } = await starting;
  return [run_id, ...(await reading)];
}

async function opened(assistantId, use, threadId) {
  const thread = threadId ? client.threads.stream(threadId, { assistantId }) : client.threads.stream({ assistantId });
  try {
    return await use(thread);
  } finally {
    await thread.close();
  }
}

test("a run on a thread that is made for it streams its answer in pieces", async () => {
  await opened("echo", async (thread) => {
    const [run_id, messages, values] = await started(thread, "messages", "values");
    assert.equal(messages.length, 1);
    assert.ok((await collect(messages[0].text)).length > 2);
    assert.equal(await messages[0].text, SAID);
    assert.equal(messages[0].node, "answer");
    assert.deepEqual(values.at(-1).log, ["heard", "answered"]);
    assert.deepEqual((await thread.output).log, ["heard", "answered"]);
    assert.equal((await client.runs.get(thread.threadId, run_id)).status, "success");
  });
});

test("tool calls arrive with their arguments, in the message and as calls", async () => {
  await opened("deep", async (thread) => {
    const [, messages, tools] = await started(thread, "messages", "toolCalls");
    const calls = (await Promise.all(messages.map((message) => message.toolCalls))).flat();
    assert.deepEqual(calls.map((call) => [call.name, call.args.description]), [["task", "hi"]]);
    const task = tools.find((tool) => tool.name === "task");
    assert.deepEqual([task.input.description, task.namespace], ["hi", []]);
    assert.match(JSON.stringify(await task.output), /Helped with hi/);
  });
});

test("a subagent and a subgraph are found", async () => {
  await opened("deep", async (thread) => {
    const [, subagents] = await started(thread, "subagents");
    assert.deepEqual(subagents.map((subagent) => subagent.name), ["general-purpose"]);
    assert.match(JSON.stringify(await subagents[0].output), /Helped with hi/);
  });
  await opened("nested", async (thread) => {
    const [, subgraphs] = await started(thread, "subgraphs");
    assert.deepEqual(subgraphs.map((subgraph) => subgraph.name), ["inner"]);
  });
});

test("a question is asked, answered once, and the run goes on", async () => {
  await opened("asks", async (thread) => {
    await thread.run.start({ input: HI });
    await until("the question", () => thread.interrupted && thread.interrupts.length);
    const [question] = thread.interrupts;
    assert.deepEqual([question.payload, question.namespace], [{ question: "Which one?" }, []]);
    const answer = { namespace: [], interrupt_id: question.interruptId, response: "blue" };
    await thread.input.respond(answer);
    await until("the end", async () => (await client.threads.get(thread.threadId)).status === "idle");
    assert.deepEqual((await client.threads.getState(thread.threadId)).values.log, ["heard", "told blue", "answered"]);
    const refused = await rejected(thread.input.respond({ ...answer, response: "red" }));
    assert.match(refused.message, /no_such_interrupt|answer/);
  });
});

test("an error ends the run, and all iterators", async () => {
  await opened("fails", async (thread) => {
    const seen = [];
    thread.onEvent((event) => seen.push(event));
    assert.deepEqual((await started(thread, "messages"))[1], []);
    const failed = await until("the failure", () => seen.find((event) => event.params.data?.event === "failed"));
    assert.equal(failed.params.data.error, "the node fell over");
  });
});

test("state commands: read, list, branch off", async () => {
  await opened("echo", async (thread) => {
    await thread.run.start({ input: HI });
    await thread.output;
    const state = await thread.state.get({ namespace: [], keys: ["log"] });
    assert.deepEqual(state.values, { log: ["heard", "answered"] });
    const { checkpoints } = await thread.state.listCheckpoints({ limit: 50 });
    assert.equal(checkpoints[0].id, state.checkpoint.id);
    const before = checkpoints.find((each) => each.step === 1);
    const forked = await thread.state.fork({ checkpoint_id: before.id });
    assert.equal(forked.thread_id, thread.threadId);
    await client.runs.join(thread.threadId, forked.run_id);
    assert.equal((await client.runs.get(thread.threadId, forked.run_id)).status, "success");
    assert.match((await rejected(thread.agent.getTree())).message, /not_supported|not supported/);
  });
});

// What a page's hook stands on, without a page. It must be disposed of, or its streams keep the process alive.
async function controlled(assistantId, use, threadId = null) {
  const page = new StreamController({ assistantId, client, threadId });
  try {
    return await use(page, () => page.rootStore.getSnapshot());
  } finally {
    await page.dispose();
  }
}

test("StreamController shows an answer as it grows, then a second turn on the same thread", async () => {
  await controlled("echo", async (page, now) => {
    const texts = () => now().messages.map((message) => message.text);
    const seen = new Set();
    page.rootStore.subscribe(() => seen.add(texts().at(-1)));
    await page.submit({ ...HI, seconds: 0.4 });
    await until("the answer", () => !now().isLoading && texts().at(-1) === SAID);
    assert.deepEqual(texts(), ["hi", SAID]);
    assert.ok([...seen].filter((text) => text && SAID.startsWith(text)).length > 2, JSON.stringify([...seen]));
    await page.submit({ messages: [{ type: "human", content: "again" }], seconds: 0.002 });
    await until("the second answer", () => !now().isLoading && texts().at(-1) === "You said: again, I think");
    assert.deepEqual(texts(), ["hi", SAID, "again", "You said: again, I think"]);
    assert.equal(now().error, undefined);
  });
});

test("StreamController asks, and after a reload goes on with the answer", async () => {
  const [threadId, id] = await controlled("asks", async (page, now) => {
    await page.submit(HI);
    const question = await until("the question", () => now().interrupt);
    assert.deepEqual(question.value, { question: "Which one?" });
    return [now().threadId, question.id];
  });
  await controlled("asks", async (page, now) => {
    await page.hydrate(threadId);
    assert.equal(now().interrupt.id, id);
    await page.respond("blue", { interruptId: id });
    await until("the answer", () => now().values.log?.includes("told blue"));
    await until("the end", () => !now().isLoading && now().interrupt === undefined);
  }, threadId);
});

test("StreamController stops a run", async () => {
  await controlled("ticks", async (page, now) => {
    const submitted = page.submit(LONG);
    const runs = () => client.runs.list(now().threadId).catch(() => []);
    await until("a run at work", async () => now().threadId && (await runs()).some((run) => run.status === "running"));
    await page.stop();
    await submitted;
    await until("the stop", async () => (await runs())[0].status === "interrupted");
  });
});

test("a thread that has runs is followed from its newest run on", async () => {
  const threadId = await newThread();
  await opened("fails", (thread) => thread.run.start({ input: HI }), threadId);
  await until("the failure", async () => (await client.threads.get(threadId)).status === "error");
  await opened("echo", async (thread) => {
    await thread.run.start({ input: HI });
    assert.deepEqual((await thread.output).log.slice(-2), ["heard", "answered"]);
  }, threadId);
});
