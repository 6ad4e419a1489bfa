/**
 * Answers of this device on their way to the server.
 *
 *   kept with the deed ──sent──> delivered (kept a day without what was read: an interrupt that is asked again gets the same answer)
 *        │  ^
 *        └──┘ no network, no server, another device's claim: again later
 *
 * The server takes an answer once, and the same answer again without harm, so that sending twice is safe and losing one is not.
 */

import { api, ApiError, UnreachableError } from "../api";
import { deviceName, GoneError, HeldError, readRefusal } from "./claims";
import { announceChange, type Device, type OutboxRow } from "./database";
import type { Call } from "./calls";
import { CHANGING, failure } from "./operations";

export type Delivery =
  | { readonly state: "delivered" }
  /** Somebody else answered, or nobody asks any more. */
  | { readonly state: "dropped"; readonly words: string }
  | { readonly state: "unsent"; readonly words: string; readonly again: number };

const AGAIN_MS = 3_000;
const KEPT_MS = 24 * 3_600_000;
/** Within this time a tab may still show an interrupt that was answered. */
const STALE_MS = 15_000;
const REFUSED = new Set([400, 413, 422]);

export function unsentRows(device: Device): Promise<OutboxRow[]> {
  return device.read("outbox", async (stores) => (await stores.outbox.all()).filter((row) => !row.delivered_at));
}

/** What was done for this question before: to be sent, or (`fresh`) sent a moment ago. Null: nothing that counts. */
export async function findDone(
  device: Device,
  interruptId: string,
  question: string,
): Promise<{ row: OutboxRow; fresh: boolean } | null> {
  const row = await device.read("outbox", (stores) => stores.outbox.get(interruptId));
  if (!row || row.question !== question) return null;
  if (!row.delivered_at) return { row, fresh: false };
  if (Date.now() - Date.parse(row.delivered_at) < STALE_MS) return { row, fresh: true };
  return changes(row) ? { row, fresh: false } : null;
}

export async function deliver(device: Device, row: OutboxRow, graphId: string): Promise<Delivery> {
  try {
    await send(row, graphId);
  } catch (error) {
    return settle(device, row, graphId, error);
  }
  await markDelivered(device, row);
  return { state: "delivered" };
}

async function send(row: OutboxRow, graphId: string): Promise<void> {
  const answer = row.claim_id ? { ...row.answer, claim_id: row.claim_id } : row.answer;
  await api.startRun(row.thread_id, graphId, {
    assistant_id: row.assistant_id,
    command: { resume: { [row.interrupt_id]: answer } },
  });
}

async function settle(device: Device, row: OutboxRow, graphId: string, error: unknown): Promise<Delivery> {
  const refusal = error instanceof ApiError ? readRefusal(error, row.interrupt_id, await deviceName(device)) : error;
  if (refusal instanceof GoneError) {
    await markDelivered(device, row);
    return {
      state: "dropped",
      words: `${row.words} Nobody asks for it any more: it was answered elsewhere, or the conversation went on.`,
    };
  }
  if (refusal instanceof HeldError)
    return { state: "unsent", words: `Done here, but ${refusal.message}`, again: refusal.until };
  if (error instanceof ApiError && REFUSED.has(error.status)) return sendApology(device, row, graphId, error.message);
  const why =
    error instanceof UnreachableError
      ? "the server does not answer"
      : error instanceof Error
        ? error.message
        : String(error);
  return {
    state: "unsent",
    words: `Done here. It is sent as soon as that is possible (${why}).`,
    again: Date.now() + AGAIN_MS,
  };
}

/** An answer that the server does not take would block the conversation for ever: the agent is told that much instead. */
async function sendApology(device: Device, row: OutboxRow, graphId: string, why: string): Promise<Delivery> {
  const calls = JSON.parse(row.question) as Call[];
  const message = `It was carried out, but the server did not take its result: ${why}`;
  const apology = { ...row, answer: { tool_results: calls.map((call) => failure(call, new Error(message))) } };
  try {
    await send(apology, graphId);
  } catch (error) {
    if (error instanceof UnreachableError) return { state: "unsent", words: message, again: Date.now() + AGAIN_MS };
  }
  await markDelivered(device, apology);
  return { state: "dropped", words: message };
}

async function markDelivered(device: Device, row: OutboxRow): Promise<void> {
  const now = new Date();
  const answer = changes(row) ? row.answer : { tool_results: [] };
  await device.write("outbox", async (stores) => {
    for (const old of await stores.outbox.all()) {
      if (old.delivered_at && now.getTime() - Date.parse(old.delivered_at) > KEPT_MS)
        await stores.outbox.delete(old.interrupt_id);
    }
    await stores.outbox.put({ ...row, answer, delivered_at: now.toISOString() });
  });
  announceChange("outbox");
}

function changes(row: OutboxRow): boolean {
  return (JSON.parse(row.question) as Call[]).some((call) => CHANGING.has(call.name));
}
