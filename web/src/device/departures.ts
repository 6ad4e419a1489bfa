/**
 * The record of what left this device: every file text, listing and excerpt that went to the server, and for whom.
 *
 * It is written in the transaction that sends (or queues) it, so that nothing leaves without a line here. An excerpt of the text is kept,
 * not the text: the file itself has that.
 */

import { announceChange, openDevice, type Departure, type Store } from "./database";

export type { Departure };

export type Leaving = Omit<Departure, "id" | "at" | "characters" | "excerpt"> & { text: string };

export const EXCERPT_CHARS = 500;

export function describeDeparture(leaving: Leaving, at = new Date()): Departure {
  const { text, ...rest } = leaving;
  return { ...rest, id: crypto.randomUUID(), at: at.toISOString(), characters: text.length, excerpt: text.slice(0, EXCERPT_CHARS) };
}

/** With `stores`, as a part of that transaction (call `announceChange("departures")` after it); else in one of its own. */
export async function recordDeparture(leaving: Leaving, stores?: { readonly departures: Store<Departure> }): Promise<Departure> {
  const row = describeDeparture(leaving);
  if (stores) {
    await stores.departures.add(row);
    return row;
  }
  await (await openDevice()).write("departures", (own) => own.departures.add(row));
  announceChange("departures");
  return row;
}

/** Newest first. */
export async function listDepartures(filter: { thread_id?: string; limit?: number } = {}): Promise<Departure[]> {
  const { thread_id, limit = 500 } = filter;
  const found: Departure[] = [];
  await (await openDevice()).read("departures", (stores) =>
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

export async function clearDepartures(): Promise<void> {
  await (await openDevice()).write("departures", (stores) => stores.departures.clear());
  announceChange("departures");
}
