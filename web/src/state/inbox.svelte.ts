/**
 * What waits for the person over all their threads. Asked for every few seconds while the page is visible, rarely while it is not; a
 * browser notification tells of something new when nobody looks, if the person has allowed that.
 */

import { request, type Schemas } from "../api";
import type { Json } from "../lib/json";
import { keep, kept } from "../lib/kept";
import { titleOf } from "./waiting";

/** A question of any thread. `claim`: the device that is about to carry it out. */
export type InboxEntry = Omit<Schemas["WaitingResponse"], "payload"> & { payload: Json };

const SEEN_MS = 5_000;
const UNSEEN_MS = 30_000;
/** Enough for a title. What a device carries out comes whole. */
const LONGEST_TEXT = 400;
const WANTED = "notify";

class Inbox {
  entries = $state.raw<InboxEntry[]>([]);
  total = $state(0);
  error = $state.raw<unknown>(null);
  loaded = $state(false);
  notifying = $state(false);
  private known: Set<string> | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private users = 0;
  private open: (threadId: string) => void = () => {};

  readonly byThread = $derived.by(() => {
    const counts: Record<string, number> = {};
    for (const entry of this.entries) counts[entry.thread_id] = (counts[entry.thread_id] ?? 0) + 1;
    return counts;
  });

  /** Look again and again until the returned function is called. `open` is where a notification leads. */
  watch(open?: (threadId: string) => void): () => void {
    if (open) this.open = open;
    this.notifying = canNotify() && Notification.permission === "granted" && kept(WANTED) === "yes";
    if (++this.users === 1) {
      document.addEventListener("visibilitychange", this.seen);
      void this.look();
    }
    return () => {
      if (--this.users > 0) return;
      clearTimeout(this.timer);
      document.removeEventListener("visibilitychange", this.seen);
    };
  }

  async look(): Promise<void> {
    clearTimeout(this.timer);
    try {
      const page = await request<{ interrupts: InboxEntry[]; total: number }>(
        `/interrupts?limit=100&longest_text=${LONGEST_TEXT}`,
      );
      this.tell(page.interrupts);
      [this.entries, this.total, this.error, this.loaded] = [page.interrupts, page.total, null, true];
    } catch (error) {
      this.error = error;
    }
    if (this.users > 0)
      this.timer = setTimeout(() => void this.look(), document.visibilityState === "visible" ? SEEN_MS : UNSEEN_MS);
  }

  /** Asks the browser when turned on. False if it does not allow it. */
  async notify(on: boolean): Promise<boolean> {
    const allowed = on && canNotify() && (await Notification.requestPermission()) === "granted";
    this.notifying = allowed;
    keep(WANTED, allowed ? "yes" : null);
    return allowed === on;
  }

  private seen = () => {
    if (document.visibilityState === "visible") void this.look();
  };

  private tell(now: InboxEntry[]): void {
    const before = this.known;
    this.known = new Set(now.map((entry) => entry.interrupt_id));
    if (!before || !this.notifying || document.visibilityState === "visible") return;
    for (const entry of now.filter((each) => !before.has(each.interrupt_id))) {
      const note = new Notification(titleOf(entry.payload), {
        body: entry.thread_title ?? "",
        tag: entry.interrupt_id,
      });
      note.onclick = () => {
        window.focus();
        this.open(entry.thread_id);
        note.close();
      };
    }
  }
}

export const inbox = new Inbox();

export function canNotify(): boolean {
  return "Notification" in window;
}
