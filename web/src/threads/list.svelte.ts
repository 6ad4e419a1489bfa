// The list of conversations. Asked for in one piece (up to a thousand), searched here; a deletion can be undone until it is carried out.

import { api, type ThreadResponse } from "../api";
import { dayHeading, plural } from "../lib/words";
import { inbox } from "../state/inbox.svelte";
import { nameOf } from "../state/server.svelte";
import type { ThreadSummary } from "../state/types";
import { toasts } from "../ui/toasts.svelte";

const UNDO_MS = 7_000;
const ASK_AGAIN_MS = 10_000;
const LIMIT = 1_000;

export class ThreadList {
  all = $state.raw<ThreadSummary[]>([]);
  loaded = $state(false);
  problem = $state.raw<unknown>(null);
  search = $state("");
  /** Deleted here, and about to be deleted on the server. */
  private leaving = $state.raw<ReadonlySet<string>>(new Set());
  private timer: ReturnType<typeof setTimeout> | undefined;
  // A look that began before another, or before something was changed here, tells what was: it does not count.
  private looks = 0;
  private changing = 0;

  get shown(): ThreadSummary[] {
    const words = this.search.trim().toLowerCase().split(/\s+/).filter(Boolean);
    return this.all.filter(
      (thread) =>
        !this.leaving.has(thread.threadId) && words.every((word) => thread.title.toLowerCase().includes(word)),
    );
  }

  get groups(): { heading: string; threads: ThreadSummary[] }[] {
    const groups = new Map<string, ThreadSummary[]>();
    for (const thread of this.shown.toSorted((one, other) => Number(other.pinned) - Number(one.pinned))) {
      const heading = thread.pinned ? "Pinned" : dayHeading(thread.updatedAt);
      groups.set(heading, [...(groups.get(heading) ?? []), thread]);
    }
    return [...groups].map(([heading, threads]) => ({ heading, threads }));
  }

  async load(): Promise<void> {
    const look = ++this.looks;
    try {
      const all = (await api.searchThreads({ limit: LIMIT })).map(readSummary);
      if (look === this.looks && !this.changing) [this.all, this.problem] = [all, null];
    } catch (error) {
      this.problem = error;
    } finally {
      this.loaded = true;
      this.askLater();
    }
  }

  /** Other tabs and runs change the list; a hidden tab does not ask. */
  private askLater(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (document.hidden ? this.askLater() : void this.load()), ASK_AGAIN_MS);
  }

  async rename(threadId: string, title: string): Promise<void> {
    const words = title.trim().slice(0, 200);
    if (words) await this.change(threadId, { title: words }, { title: words });
  }

  async pin(threadId: string, pinned: boolean): Promise<void> {
    await this.change(threadId, { pinned }, { pinned });
  }

  private async change(
    threadId: string,
    shown: Partial<ThreadSummary>,
    metadata: Record<string, unknown>,
  ): Promise<void> {
    const before = this.all;
    this.changing++;
    this.all = this.all.map((thread) => (thread.threadId === threadId ? { ...thread, ...shown } : thread));
    try {
      await api.patchThread(threadId, metadata);
    } catch (error) {
      this.all = before;
      toasts.fail(error);
    } finally {
      this.changing--;
      void this.load();
    }
  }

  /** Gone from the list at once, from the server when nobody has undone it; then `undone` is called. */
  remove(threadId: string, undone?: () => void): void {
    this.leaving = new Set([...this.leaving, threadId]);
    const timer = setTimeout(() => void this.carryOut(threadId), UNDO_MS);
    const undo = () => {
      clearTimeout(timer);
      this.bringBack(threadId);
      undone?.();
    };
    toasts.show("The conversation is deleted.", { action: { label: "Undo", run: undo }, ms: UNDO_MS });
  }

  private bringBack(threadId: string): void {
    this.leaving = new Set([...this.leaving].filter((id) => id !== threadId));
  }

  private async carryOut(threadId: string): Promise<void> {
    try {
      const active = (await api.listRuns(threadId, 20)).filter(
        (run) => run.status === "running" || run.status === "pending",
      );
      for (const run of active) await api.cancelRun(threadId, run.run_id!);
      await this.deleteWhenFree(threadId);
      this.looks++;
      this.all = this.all.filter((thread) => thread.threadId !== threadId);
    } catch (error) {
      toasts.fail(error);
    } finally {
      this.bringBack(threadId);
    }
  }

  /** A run that was just cancelled may need a moment to end; until then the server refuses. */
  private async deleteWhenFree(threadId: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await api.deleteThread(threadId);
      } catch (error) {
        if (tries >= 10 || (error as { status?: number }).status !== 409) throw error;
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    }
  }
}

export const threads = new ThreadList();

function readSummary(wire: Partial<ThreadResponse>): ThreadSummary {
  const metadata = wire.metadata ?? {};
  const graphId = typeof metadata["graph_id"] === "string" ? metadata["graph_id"] : null;
  const title =
    typeof metadata["title"] === "string" && metadata["title"] ? metadata["title"] : `New in ${nameOf(graphId)}`;
  return {
    threadId: wire.thread_id ?? "",
    title,
    status: wire.status ?? "idle",
    graphId,
    updatedAt: wire.updated_at ?? "",
    pinned: metadata["pinned"] === true,
  };
}

/** The status in words, as it stands beside a title. */
export function badgeOf(thread: ThreadSummary): { words: string; kind: "wait" | "bad" | "" } | null {
  const waiting = inbox.byThread[thread.threadId];
  if (thread.status === "interrupted" && waiting) return { words: plural(waiting, "question"), kind: "wait" };
  if (thread.status === "busy") return { words: "working", kind: "" };
  if (thread.status === "error") return { words: "failed", kind: "bad" };
  return null;
}
