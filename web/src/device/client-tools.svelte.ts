/**
 * The page's way to what the device carries out. Small, because every visit loads it; the rest comes behind the page.
 *
 * Until that is there, questions to the device are not shown: most of them are done without a word. Where it cannot come (a private
 * window, say), they are shown with the reason, and can be refused.
 */

import type { Json } from "../lib/json";
import type { InboxEntry } from "../state/inbox.svelte";
import { kindOf, type Waiting } from "../state/waiting";
import { provideContext } from "../state/message-context";
import type { ThreadSession } from "../state/session.svelte";
import type { ThreadView } from "../state/types";
import type { Asked, Decision, Executor, Note } from "./executor.svelte";

const OPENED_MS = 10_000;

class ClientTools {
  executor = $state.raw<Executor | null>(null);
  /** Why nothing can be carried out here. */
  problem = $state.raw<Error | null>(null);
  private starting: Promise<void> | null = null;
  private latest: readonly Asked[] = [];

  constructor() {
    // A message that is sent while the device is still being opened waits for it: its project goes along, or the agent could not tell which.
    // Not for ever: another tab may be in its way, and most agents want nothing of it.
    provideContext(async (message) => {
      await Promise.race([this.starting, new Promise((resolve) => setTimeout(resolve, OPENED_MS))]);
      return this.executor ? (await import("./project-context")).projectContext(message) : null;
    });
  }

  /** Once the server has said who is there; again when somebody else has signed in. */
  start(): Promise<void> {
    this.starting ??= this.begin().finally(() => (this.starting = null));
    return this.starting;
  }

  private async begin(): Promise<void> {
    try {
      const [{ startExecutor }, { databaseName }] = await Promise.all([import("./executor.svelte"), import("./owner")]);
      if (this.executor?.device.name === (await databaseName())) return;
      this.executor?.stop();
      this.executor = null;
      this.executor = await startExecutor();
      this.problem = null;
      this.executor.consider(this.latest);
    } catch (error) {
      this.problem = error instanceof Error ? error : new Error(String(error));
    }
  }

  /** What is open in the thread on the screen, and in all others. */
  consider(view: ThreadView | null, inbox: readonly InboxEntry[]): void {
    const here = (view?.waiting ?? []).map(({ id, threadId, payload }) => ({
      id,
      threadId,
      payload,
      assistantId: view!.assistantId ?? view!.graphId ?? "",
    }));
    const elsewhere = inbox
      .filter((entry) => entry.thread_id !== view?.threadId)
      .map((entry) => ({
        id: entry.interrupt_id,
        threadId: entry.thread_id,
        payload: entry.payload,
        assistantId: entry.assistant_id,
        claim: entry.claim,
      }));
    this.latest = [...here, ...elsewhere].filter((asked) => kindOf(asked.payload) === "device");
    this.executor?.consider(this.latest);
  }

  /** What a person has to decide, without what this device does by itself. */
  asksPerson<T extends Waiting>(waiting: readonly T[]): readonly T[] {
    return waiting.filter(
      ({ id, payload }) =>
        kindOf(payload) !== "device" || (this.executor ? this.executor.asksPerson(id, payload) : this.problem !== null),
    );
  }

  notesOf(threadId: string): readonly Note[] {
    return this.executor?.notes.filter((note) => note.threadId === threadId) ?? [];
  }

  /** Answers of the dock: what the device is asked goes through it, everything else to the server. */
  async answer(session: ThreadSession, answers: Record<string, Json>): Promise<void> {
    for (const [id, answer] of Object.entries(answers)) {
      const asked = this.latest.find((each) => each.id === id);
      if (!asked || !this.executor) await session.answer({ [id]: asked ? refusalOf(asked, answer) : answer });
      else await this.executor.carryOut(asked, answer as unknown as Decision);
    }
  }
}

export const clientTools = new ClientTools();

/** Without a device nothing can be allowed: all that can be said is no. */
function refusalOf(asked: Asked, answer: Json): Json {
  const { tool_calls } = asked.payload as { tool_calls: { id: string }[] };
  const { reason = "" } = answer as { reason?: string };
  return {
    tool_results: tool_calls.map((call) => ({ tool_call_id: call.id, error: { code: "rejected", message: reason } })),
  };
}
