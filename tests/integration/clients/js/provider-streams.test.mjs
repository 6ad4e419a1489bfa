// Both `useStream`s, of @langchain/react and of the SDK, show what the graph returned: for every shape in which providers stream.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createElement } from "react";
import TestRenderer from "react-test-renderer";
import { useStream as useThread } from "@langchain/react";
import { useStream as useRun } from "@langchain/langgraph-sdk/react";
import { client, newThread, until, untilEqual, url } from "./shared.mjs";

globalThis.window ??= {};
const { SHAPES, PROVIDERS, PROVIDERS_URL } = process.env;
const cases = [
  ...SHAPES.split(" ").map((shape) => ({ shape })),
  ...PROVIDERS.split(" ").map((shape) => ({ shape, address: PROVIDERS_URL })),
];

async function mount(t, useStream) {
  const threadId = await newThread();
  const page = { stream: null, seen: new Set(), threadId };
  function Page() {
    page.stream = useStream({ apiUrl: url, apiKey: null, assistantId: "sums", threadId });
    for (const message of page.stream.messages) if (kind(message) === "ai") page.seen.add(message.id);
    return null;
  }
  const root = TestRenderer.create(createElement(Page));
  t.after(() => root.unmount()); // also of a test that failed: an open stream would keep this process
  return until("the page", () => page.stream && !page.stream.isThreadLoading && page);
}

const kind = (message) => (message.getType ? message.getType() : message.type);
const text = ({ content }) =>
  (typeof content === "string" ? [content] : content).map((block) => (typeof block === "string" ? block : (block.text ?? ""))).join("");
const told = (message) => ({
  id: message.id,
  kind: kind(message),
  text: text(message),
  calls: (message.tool_calls ?? []).map(({ id, name, args }) => ({ id, name, args })),
});

for (const [name, useStream] of Object.entries({ useThread, useRun })) describe(name, { concurrency: 8 }, () => {
  for (const { shape, address } of cases) {
    test(`${shape}${address ? " as its own package streams it" : ""}`, async (t) => {
      const page = await mount(t, useStream);
      page.stream.submit({ messages: [{ type: "human", content: "1 + 2?" }], shape, ...(address && { address }) });
      const state = await until("the end", async () => {
        const found = await client.threads.getState(page.threadId);
        return found.values.messages?.length === 4 && found.next.length === 0 && found;
      });
      const returned = state.values.messages.map(told);
      assert.deepEqual(returned.map((message) => message.kind), ["human", "ai", "tool", "ai"]);
      await until("quiet", () => !page.stream.isLoading);
      // Not at once: @langchain/react hears of the end on a stream of its own, and the messages may still be on their way on the other.
      await untilEqual(() => page.stream.messages.map(told), returned);
      assert.deepEqual([...page.seen], [returned[1].id, returned[3].id], "no other answer was shown in between");
      assert.deepEqual(returned[1].calls[0].args, { a: 1, b: 2 });
    });
  }
});
