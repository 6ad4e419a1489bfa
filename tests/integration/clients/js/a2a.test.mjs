// A2A's own client in JavaScript: the card, a task, a stream, a question and its answer, cancelling.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { SendMessageRequest, TaskState } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
import { url } from "./shared.mjs";

const connect = (name) => new ClientFactory().createFromUrl(`${url}/a2a/${name}/`);

function saying(text, names = {}, configuration = {}) {
  const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...names };
  return SendMessageRequest.fromJSON({ message, configuration });
}

const textIn = (parts) => parts.map((part) => part.content?.value ?? "").join("");

test("a message becomes a task with its answer", async () => {
  const agent = await connect("echo");
  const task = await agent.sendMessage(saying("hi"));
  assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED);
  assert.equal(textIn(task.artifacts[0].parts), "You said: hi, I think");
  const again = await agent.getTask({ id: task.id, tenant: "" });
  assert.equal(again.contextId, task.contextId);
  assert.equal(again.history.length, 2);
});

async function streamed(name) {
  const agent = await connect(name);
  const events = [];
  for await (const event of agent.sendMessageStream(saying("hi"))) events.push(event.payload);
  assert.equal(events[0].$case, "task");
  assert.equal(events.at(-1).value.status.state, TaskState.TASK_STATE_COMPLETED);
  const pieces = events.filter((event) => event.$case === "artifactUpdate");
  return pieces.map((piece) => textIn(piece.value.artifact.parts));
}

test("a stream gives an agent's text in pieces and ends with the state", async () => {
  const pieces = await streamed("deep");
  assert.ok(pieces.length > 1);
  assert.equal(pieces.join(""), "All done");
});

test("what a node of another graph writes comes when it is in the thread", async () => {
  assert.deepEqual(await streamed("echo"), ["You said: hi, I think"]);
});

test("a question is answered with the task's id", async () => {
  const agent = await connect("asks");
  const task = await agent.sendMessage(saying("hi"));
  assert.equal(task.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
  assert.match(textIn(task.status.message.parts.slice(0, 1)), /Which one\?/);
  const done = await agent.sendMessage(saying("this one", { taskId: task.id, contextId: task.contextId }));
  assert.equal(done.id, task.id);
  assert.equal(done.status.state, TaskState.TASK_STATE_COMPLETED);
});

test("a task is cancelled, and one that is not there is not found", async () => {
  const agent = await connect("asks");
  const task = await agent.sendMessage(saying("hi"));
  const cancelled = await agent.cancelTask({ id: task.id, tenant: "", metadata: undefined });
  assert.equal(cancelled.status.state, TaskState.TASK_STATE_CANCELED);
  await assert.rejects(agent.getTask({ id: "nothing", tenant: "" }), /no such task/);
});
