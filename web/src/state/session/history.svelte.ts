// What happened before: earlier pages of messages, the versions of a message and which of them is shown, and the records of steps.

import { api, type MessagePage, type Turn } from "../../api";
import { branchTo, siblingsOf } from "../branches";
import type { Message } from "../types";
import { PAGE } from "./snapshot";
import type { Thread } from "./thread";

/** Earlier pages are larger than the first one, and put in front in slices, so that no step takes long. */
const EARLIER_PAGE = 60;
const SLICE = 12;

export class History {
  turns = $state.raw<readonly Turn[]>([]);
  loadingEarlier = $state(false);
  /** Set while an older branch is shown: what is sent goes on from there. */
  branchCheckpoint = $state<string | null>(null);
  /** The checkpoint that the shown messages, and the pages before them, belong to. */
  pageCheckpoint: string | null = null;

  private lastRecord = 0;
  /** The turn on whose branch the thread stands. */
  private head: string | null = null;
  /** Increases when the choice of shown messages changes, so that a version requested earlier is discarded when it arrives. */
  private choices = 0;

  constructor(private readonly thread: Thread) {}

  /** A message was sent, or another version asked for: answers that are still on their way come too late. */
  choose(): number {
    return ++this.choices;
  }

  load(): void {
    void this.loadRecords();
    void this.loadTurns();
  }

  async loadTurns(): Promise<void> {
    const page = await api.turns(this.thread.threadId).catch(() => null);
    if (page) [this.turns, this.head] = [page.turns, page.head];
  }

  private async loadRecords(): Promise<void> {
    for (;;) {
      const page = await api.steps(this.thread.threadId, this.lastRecord).catch(() => null);
      if (!page?.steps.length) return;
      this.lastRecord = Math.max(...page.steps.map((step) => step.number));
      this.thread.dispatch({ type: "records", records: page.steps });
      if (page.next === null) return;
    }
  }

  async loadEarlier(): Promise<void> {
    const [{ before }, checkpoint] = [this.thread.view, this.pageCheckpoint];
    if (!before || this.loadingEarlier) return;
    this.loadingEarlier = true;
    try {
      const page = await api.messages(this.thread.threadId, { limit: EARLIER_PAGE, before, checkpoint_id: checkpoint });
      for (let at = 0; at < page.messages.length; at += SLICE) {
        if (at) await new Promise(requestAnimationFrame);
        if (this.pageCheckpoint !== checkpoint) return; // another version is shown by now, with a past of its own
        const isLast = at + SLICE >= page.messages.length;
        this.thread.dispatch({
          type: "earlier",
          messages: page.messages.slice(at, at + SLICE).toReversed(),
          before: isLast ? page.next : before,
        });
      }
    } finally {
      this.loadingEarlier = false;
    }
  }

  /** The versions of a message, oldest first. One: it has no siblings. */
  versionsOf(message: Message): readonly Turn[] {
    return siblingsOf(this.turns, message.id);
  }

  async showVersion(turn: Turn): Promise<void> {
    const end = branchTo(this.turns, turn);
    const checkpoint = end.last_checkpoint_id;
    if (!checkpoint) throw new Error("This version has not been kept.");
    const choice = this.choose();
    const page = await api.messages(this.thread.threadId, { limit: PAGE, checkpoint_id: checkpoint });
    if (choice !== this.choices) return;
    this.branchCheckpoint = end.turn_id === this.head ? null : checkpoint;
    this.show(page);
  }

  /** Another tab went on from an earlier point: what follows that point is another branch. */
  async showNewest(): Promise<void> {
    this.branchCheckpoint = null;
    const page = await api.messages(this.thread.threadId, { limit: PAGE }).catch(() => null);
    if (page) this.show(page);
  }

  private show(page: MessagePage): void {
    this.pageCheckpoint = page.checkpoint_id;
    this.thread.dispatch({
      type: "snapshot",
      snapshot: { messages: page.messages.toReversed(), before: page.next, replaceMessages: true },
    });
  }
}
