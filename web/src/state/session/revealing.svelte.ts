// Messages that came whole while the person watched: they are revealed word by word.

import type { Message, ThreadView } from "../types";

const REVEALED_FROM_CHARS = 160;

export class Revealing {
  messages = $state.raw<ReadonlySet<string>>(new Set());
  private caughtUp = false;

  /** The stream begins. False: it tells first what happened before the person came. */
  begin(caughtUp: boolean): void {
    this.caughtUp = caughtUp;
  }

  note(before: ThreadView, now: ThreadView): void {
    if (!this.caughtUp) {
      this.caughtUp = now.phase !== "streaming" || now.messages.some((message) => message.status === "streaming");
      return;
    }
    const fresh = newlyWhole(before, now);
    if (fresh.length) this.messages = new Set([...this.messages, ...fresh]);
  }

  done(messageId: string): void {
    this.messages = new Set([...this.messages].filter((id) => id !== messageId));
  }
}

/** Long answers that were not there before, not even in part. */
export function newlyWhole(before: ThreadView, now: ThreadView): string[] {
  const isNew = (message: Message) =>
    message.role === "agent" &&
    message.status === "done" &&
    message.text.length >= REVEALED_FROM_CHARS &&
    before.messages.findLast((each) => each.id === message.id) === undefined;
  return now.messages
    .slice(-4)
    .filter(isNew)
    .map((message) => message.id);
}
