// What can be read off the server's runs. Pure.

import type { RunResponse, WireMessage } from "../../api";

/** The messages that a run was started with. */
export function inputMessages(run: RunResponse): WireMessage[] {
  const input = run.kwargs?.["input"] as { messages?: unknown } | null;
  return Array.isArray(input?.messages) ? (input.messages as WireMessage[]).filter((message) => message?.id) : [];
}

/** The interrupts that a run answered. */
export function answeredBy(run: RunResponse): string[] {
  const resumed = (run.kwargs?.["command"] as { resume?: unknown } | null)?.resume;
  return resumed && typeof resumed === "object" ? Object.keys(resumed) : [];
}

/** Whether it went on from an earlier point of the thread. */
export function isFork(run: RunResponse): boolean {
  return Boolean((run.kwargs?.["checkpoint"] as { checkpoint_id?: unknown } | null)?.checkpoint_id);
}

/** The newest run that has begun. `runs` are newest first, as the server lists them. */
export function currentRun(runs: readonly RunResponse[]): RunResponse | undefined {
  return runs.find((run) => run.status !== "pending");
}

/** Whether it was taken back while it was queued: the thread does not have what it was asked. */
export function wasTakenBack(run: RunResponse, messages: readonly WireMessage[]): boolean {
  const asked = inputMessages(run);
  return (
    run.status === "interrupted" && asked.length > 0 && !messages.some(({ id }) => asked.some((each) => each.id === id))
  );
}

/**
 * The run whose events have to be read again because a snapshot cannot know them: the first of the current turn, if that is under way, waits,
 * or ended badly. Null: the snapshot has everything.
 */
export function turnToReplay(runs: readonly RunResponse[], isWaiting: boolean): RunResponse | null {
  const current = currentRun(runs);
  if (!current || (current.status === "success" && !isWaiting)) return null;
  return runs.slice(runs.indexOf(current)).find((run) => run.kwargs?.["input"] != null) ?? current;
}

/** Runs that have begun since `known` was listed, oldest first; also such as waited for their turn then. */
export function begunSince(known: readonly RunResponse[], now: readonly RunResponse[]): RunResponse[] {
  const begun = new Set(known.filter((run) => run.status !== "pending").map((run) => run.run_id));
  return now.filter((run) => run.status !== "pending" && !begun.has(run.run_id)).toReversed();
}
