/**
 * Claims: this browser tells the server that it is about to carry something out, so that no other one does it too.
 *
 * A claim is remembered on this device until the deed is done: a page that was closed in between takes it up again, instead of waiting
 * until it has run out.
 */

import { ApiError, request } from "../api";
import type { Device } from "./database";
import { claimKey } from "./execution";

/** Another device has it, or this one had it and was closed; the message says which, and until when. */
export class HeldError extends Error {
  override name = "HeldError";

  constructor(
    message: string,
    readonly until: number,
  ) {
    super(message);
  }
}

/** It is not asked any more. */
export class GoneError extends Error {
  override name = "GoneError";
}

const TTL_S = 30;
const NAME = "device_name";
const ASK_AGAIN_MS = 5_000;

export async function claim(device: Device, threadId: string, interruptId: string): Promise<string> {
  const name = await deviceName(device);
  const known = await device.read("settings", (stores) => stores.settings.get(claimKey(interruptId)));
  const held = typeof known?.value === "string" ? known.value : null;
  const claim_id = held
    ? await renewOrClaim(threadId, interruptId, name, held)
    : await ask(threadId, interruptId, { device_id: name });
  await device.write("settings", (stores) => stores.settings.put({ key: claimKey(interruptId), value: claim_id }));
  return claim_id;
}

/** How other devices call this one. Made once. */
export async function deviceName(device: Device): Promise<string> {
  return device.write("settings", async (stores) => {
    const known = await stores.settings.get(NAME);
    if (typeof known?.value === "string") return known.value;
    const value = `${describeBrowser(navigator.userAgent)} (${crypto.randomUUID().slice(0, 4)})`;
    await stores.settings.put({ key: NAME, value });
    return value;
  });
}

export function describeBrowser(agent: string): string {
  const browser = /Edg\//.test(agent)
    ? "Edge"
    : /Firefox\//.test(agent)
      ? "Firefox"
      : /Chrom(e|ium)\//.test(agent)
        ? "Chrome"
        : /Safari\//.test(agent)
          ? "Safari"
          : "Browser";
  const system =
    ["Windows", "Android", "iPhone", "iPad", "Mac", "Linux"].find((each) => agent.includes(each)) ?? "another system";
  return `${browser} on ${system}`;
}

/** Seconds are enough for people. */
export function sayHolder(holder: string, own: string, until: Date): string {
  const clock = until.toLocaleTimeString("en-GB");
  if (holder === own) return `This browser began it before it was closed. It goes on at ${clock}.`;
  return `Another device does this: ${holder}, until ${clock} at the latest.`;
}

async function renewOrClaim(threadId: string, interruptId: string, name: string, held: string): Promise<string> {
  try {
    return await ask(threadId, interruptId, { device_id: name, claim_id: held });
  } catch (error) {
    if (error instanceof HeldError && error.until === 0) return ask(threadId, interruptId, { device_id: name });
    throw error;
  }
}

async function ask(
  threadId: string,
  interruptId: string,
  claim: { device_id: string; claim_id?: string },
): Promise<string> {
  const path = `/threads/${encodeURIComponent(threadId)}/interrupts/${encodeURIComponent(interruptId)}/claim`;
  try {
    const held = await request<{ claim_id: string }>(path, { method: "POST", json: { ...claim, ttl_s: TTL_S } });
    return held.claim_id;
  } catch (error) {
    throw error instanceof ApiError ? readRefusal(error, interruptId, claim.device_id) : error;
  }
}

/** What a refusal to claim, or to take an answer, means for the device. Everything else is a fault that may pass. */
export function readRefusal(error: ApiError, interruptId: string, own: string): Error {
  const kind = error.type.split(":").at(-1);
  // A resume that does not fit names what is open: if it is not this, nobody asks for it.
  const stillOpen =
    Array.isArray(error.problem["interrupt_ids"]) && error.problem["interrupt_ids"].includes(interruptId);
  if (
    error.status === 410 ||
    error.status === 404 ||
    kind === "interrupt-answered" ||
    (kind === "resume" && !stillOpen)
  )
    return new GoneError(error.message);
  if (kind !== "interrupt-claimed") return error;
  const holder = error.problem["claim"] as { device_id: string; expires_at: string } | undefined;
  if (!holder) return new HeldError(error.message, 0);
  const until = new Date(holder.expires_at);
  return new HeldError(sayHolder(holder.device_id, own, until), Math.max(until.getTime(), Date.now() + ASK_AGAIN_MS));
}
