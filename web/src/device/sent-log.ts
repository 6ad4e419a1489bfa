/**
 * The record of what left this device: every file text, listing and excerpt that went to the server, and for whom.
 *
 * It is written in the transaction that sends (or queues) it, so that nothing leaves without a line here. An excerpt of the text is kept,
 * not the text: the file itself has that.
 */

import { announceChange, openDevice, type SentRecord, type Store } from "./database";

export type { SentRecord };

export type SentText = Omit<SentRecord, "id" | "at" | "characters" | "excerpt"> & { text: string };

export const EXCERPT_CHARS = 500;

export function describeSent(leaving: SentText, at = new Date()): SentRecord {
  const { text, ...rest } = leaving;
  return {
    ...rest,
    id: crypto.randomUUID(),
    at: at.toISOString(),
    characters: text.length,
    excerpt: text.slice(0, EXCERPT_CHARS),
  };
}

/** With `stores`, as a part of that transaction (call `announceChange("departures")` after it); else in one of its own. */
export async function recordSent(
  leaving: SentText,
  stores?: { readonly departures: Store<SentRecord> },
): Promise<SentRecord> {
  const row = describeSent(leaving);
  if (stores) {
    await stores.departures.add(row);
    return row;
  }
  await (await openDevice()).write("departures", (own) => own.departures.add(row));
  announceChange("departures");
  return row;
}

/** Newest first. */
export async function listSent(filter: { thread_id?: string; limit?: number } = {}): Promise<SentRecord[]> {
  const { thread_id, limit = 500 } = filter;
  const found: SentRecord[] = [];
  await (
    await openDevice()
  ).read("departures", (stores) =>
    stores.departures.each(
      (row) => {
        if (!thread_id || row.thread_id === thread_id) found.push(row);
        return found.length < limit;
      },
      "at",
      null,
      "prev",
    ),
  );
  return found;
}
