// React's `useStream`, in a renderer without a page: sends, streams, asks, goes on, branches, shows errors and subagents.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createElement } from "react";
import TestRenderer from "react-test-renderer";
import { useStream } from "@langchain/langgraph-sdk/react";
import { HI, client, newThread, until, url } from "./shared.mjs";

globalThis.window ??= {}; // `reconnectOnMount` looks for a page
const memory = new Map();
const storage = {
  getItem: (key) => memory.get(key) ?? null,
  setItem: (key, value) => memory.set(key, value),
  removeItem: (key) => memory.delete(key),
};

// A component that does nothing but hold the stream; `seen` has every text its last message had. It is given its thread: a hook that
// makes one itself breaks its own first stream off when React draws late, which a busy machine sees to.
async function mount(t, options) {
  const threadId = options.threadId ?? (await newThread());
  const page = { stream: null, seen: [], threadId, errors: [] };
  function Page() {
    page.stream = useStream({
      apiUrl: url,
      apiKey: null,
      fetchStateHistory: true,
      onError: (error) => page.errors.push(error),
      ...options,
      threadId,
    });
    const last = page.stream.messages.at(-1);
    if (last) page.seen.push(last.content);
    return null;
  }
  page.root = TestRenderer.create(createElement(Page));
  t.after(() => page.root.unmount()); // also of a test that failed: an open stream would keep this process
  return until("the page", () => page.stream && !page.stream.isThreadLoading && page);
}

const texts = (page) => page.stream.messages.map((message) => message.content);
const settled = (page) => until("the run's end", () => !page.stream.isLoading);

async function send(page, values, options) {
  await page.stream.submit(values, options);
  await settled(page);
}

test("useStream sends and shows the answer as it grows", async (t) => {
  const page = await mount(t, { assistantId: "echo" });
  await send(page, { ...HI, seconds: 0.4 }, { optimisticValues: HI });
  assert.deepEqual(await until("history", () => page.stream.history.length && texts(page)), ["hi", "You said: hi, I think"]);
  const grown = page.seen.filter((text) => "You said: hi, I think".startsWith(text));
  assert.ok(new Set(grown).size > 2, JSON.stringify(page.seen));
  await send(page, { messages: [{ type: "human", content: "again" }] });
  await until("the second answer", () => page.stream.messages.length === 4);
  assert.deepEqual(page.errors, []);
});

test("useStream shows a question and resumes with the answer", async (t) => {
  const page = await mount(t, { assistantId: "asks" });
  await send(page, HI);
  const question = await until("the question", () => page.stream.interrupt);
  assert.deepEqual(question.value, { question: "Which one?" });
  await send(page, undefined, { command: { resume: "this one" } });
  await until("the end", () => page.stream.values.log?.length === 3 && page.stream.interrupt === undefined);
  assert.deepEqual(page.stream.values.log, ["heard", "told this one", "answered"]);
});

test("useStream finds the question again on another page", async (t) => {
  const threadId = await newThread();
  await client.runs.wait(threadId, "asks", { input: HI });
  const page = await mount(t, { assistantId: "asks", threadId });
  assert.deepEqual((await until("the question", () => page.stream.interrupt)).value, { question: "Which one?" });
});

test("useStream regenerates an answer as a branch", async (t) => {
  const page = await mount(t, { assistantId: "echo" });
  await send(page, HI);
  const firstSeenState = await until("the history", () => {
    const [, answer] = page.stream.messages;
    return answer && page.stream.getMessagesMetadata(answer)?.firstSeenState;
  });
  await send(page, undefined, { checkpoint: firstSeenState.parent_checkpoint });
  const branches = await until("two branches", () => {
    const options = page.stream.messages.flatMap((message) => page.stream.getMessagesMetadata(message)?.branchOptions ?? []);
    return options.length > 1 && options;
  });
  assert.equal(branches.length, 2);
  await until("the branch", () => page.stream.messages.length === 2);
});

test("useStream shows an error, also after coming back", async (t) => {
  const page = await mount(t, { assistantId: "fails" });
  await send(page, HI);
  await until("the error", () => page.stream.error);
  assert.match(String(page.stream.error?.message ?? page.stream.error), /fell over/);
  const back = await mount(t, { assistantId: "fails", threadId: page.threadId });
  await until("the error in the history", () => back.stream.error);
  assert.match(String(back.stream.error?.message ?? back.stream.error), /fell over/);
});

test("useStream stops, and rejoins a run that went on", async (t) => {
  const page = await mount(t, { assistantId: "echo", reconnectOnMount: () => storage });
  page.stream.submit({ ...HI, seconds: 0.4 });
  await until("the run", () => memory.size === 1);
  page.root.unmount();
  const back = await mount(t, { assistantId: "echo", reconnectOnMount: () => storage, threadId: page.threadId });
  await until("the answer", () => texts(back).at(-1) === "You said: hi, I think" && !back.stream.isLoading);
  await until("the key's end", () => memory.size === 0);

  back.stream.submit({ messages: [{ type: "human", content: "stop" }], seconds: 5 });
  await until("the run", () => memory.size === 1 && back.stream.isLoading);
  const runId = [...memory.values()][0];
  await back.stream.stop();
  await until("the stop", async () => (await client.runs.get(page.threadId, runId)).status === "interrupted");
});

test("useStream shows subagents beside the conversation", async (t) => {
  const page = await mount(t, { assistantId: "deep", filterSubagentMessages: true });
  page.stream.subagents; // asking for them makes the hook ask the server
  await send(page, HI, { streamSubgraphs: true });
  const subagent = () => [...page.stream.subagents.values()][0];
  await until("the subagent's end", () => subagent()?.status === "complete");
  assert.ok(JSON.stringify(subagent().messages).includes("Helped with hi"), JSON.stringify(subagent()));
  await until("the last word", () => texts(page).at(-1) === "All done");
});
