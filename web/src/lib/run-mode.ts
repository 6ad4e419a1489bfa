// How much the runs of a conversation may change: chosen beside the composer, kept on this device, sent with each message. Null: as the
// agent was built.

import { keep, kept } from "./kept";

const NEXT = "new";
const name = (place: string) => `mode.${place}`;

export const runMode = (place: string): string | null => kept(name(place));

export const keepRunMode = (place: string, mode: string | null): void => keep(name(place), mode);

/** The next conversation has begun, and has its mode. */
export function moveRunMode(threadId: string): void {
  keepRunMode(threadId, runMode(NEXT));
  keepRunMode(NEXT, null);
}
