/**
 * Unfinished answers, by interrupt id, in the tab's session storage: they survive a reload and end with the tab, so nothing of them is
 * left on a shared machine. Cards leave out what is named like a secret before they save.
 */

import { hasToken } from "../wallet/words";

const PREFIX = "stepwell.answer.";
const MOST_CHARS = 200_000;

export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export interface Drafts {
  load(id: string): unknown;
  /** False if it was not kept: too large, money in it, or the browser keeps nothing here. */
  save(id: string, draft: unknown): boolean;
  drop(id: string): void;
}

export function openDrafts(store: Store | null): Drafts {
  return {
    load(id) {
      try {
        const kept = store?.getItem(PREFIX + id);
        return kept ? (JSON.parse(kept) as unknown) : null;
      } catch {
        return null; // Storage is closed to us, or holds what another version wrote: begin anew.
      }
    },
    save(id, draft) {
      const text = JSON.stringify(draft);
      if (!store || text.length > MOST_CHARS || hasToken(text)) return false;
      try {
        store.setItem(PREFIX + id, text);
        return true;
      } catch {
        return false; // The quota is used up; the card says so.
      }
    },
    drop(id) {
      try {
        store?.removeItem(PREFIX + id);
      } catch {
        // Storage is closed to us, so nothing was kept either.
      }
    },
  };
}

export function tabStore(): Storage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}
