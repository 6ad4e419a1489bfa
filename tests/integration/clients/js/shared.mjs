// What the tests share: the server's address comes in an environment variable.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { Client } from "@langchain/langgraph-sdk";

export const url = process.env.SERVER_URL;
export const client = new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } });
export const HI = { messages: [{ type: "human", content: "hi" }] };
export const LONG = { count: 1000, seconds: 0.02 };

export const newThread = async () => (await client.threads.create()).thread_id;

export async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

export async function rejected(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it was not refused");
}

export async function until(what, wanted, seconds = 60) {
  const deadline = Date.now() + seconds * 1000;
  while (Date.now() < deadline) {
    const found = await wanted();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what}: not within ${seconds} s`);
}

// Or else says what is different.
export async function untilEqual(told, expected) {
  await until("the same", () => isDeepStrictEqual(told(), expected)).catch(() => assert.deepEqual(told(), expected));
}
