// A thread as the server has it now: what a session opens with, and what it takes up again after each run.

import { api, type RunResponse } from "../../api";
import type { Snapshot } from "../reduce";
import { currentRun, wasTakenBack } from "./runs";

/** What is drawn at once: about a screen. */
export const PAGE = 20;

export interface ReadState {
  readonly snapshot: Snapshot;
  /** The checkpoint that earlier pages of messages belong to. */
  readonly pageCheckpoint: string | null;
}

/** Messages by page, the rest of the state by name, what waits with who asks. */
export async function readState(threadId: string, branchCheckpoint: string | null): Promise<ReadState> {
  const [page, state, waiting] = await Promise.all([
    api.messages(threadId, { limit: PAGE, checkpoint_id: branchCheckpoint }),
    api.state(threadId),
    api.interrupts(threadId),
  ]);
  const snapshot = {
    messages: page.messages.toReversed(),
    before: page.next,
    values: (state.values ?? {}) as Record<string, unknown>,
    interrupts: waiting.interrupts,
    checkpointId: checkpointOf(state),
  };
  return { snapshot, pageCheckpoint: page.checkpoint_id };
}

/** The state with what is known of the thread and its runs (newest first). Null: there is no such thread. */
export async function readThread(
  threadId: string,
  branchCheckpoint: string | null,
): Promise<(ReadState & { runs: RunResponse[]; metadata: Record<string, unknown> }) | null> {
  const thread = await api.findThread(threadId);
  if (!thread) return null;
  const [state, runs] = await Promise.all([readState(threadId, branchCheckpoint), api.listRuns(threadId, 30)]);
  const last = currentRun(runs.filter((run) => !wasTakenBack(run, state.snapshot.messages ?? [])));
  const metadata = thread.metadata ?? {};
  const snapshot: Snapshot = {
    ...state.snapshot,
    title: textOf(metadata["title"]),
    graphId: textOf(metadata["graph_id"]) || null,
    assistantId: textOf(metadata["assistant_id"]) || null,
    lastRun: last ? { runId: last.run_id!, status: last.status!, error: errorOf(thread) } : null,
  };
  return { ...state, snapshot, runs, metadata };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function errorOf(thread: { error?: unknown }): string | null {
  const error = thread.error as { message?: unknown } | null | undefined;
  return typeof error?.message === "string" ? error.message : null;
}

function checkpointOf(state: { checkpoint?: Record<string, unknown> | null }): string | null {
  return textOf(state.checkpoint?.["checkpoint_id"]) || null;
}
