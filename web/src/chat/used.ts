// What an answer used: its model, and how long its runs took.

import { seconds } from "../lib/words";
import type { ShownTurn } from "./turns";
import type { Run } from "../state/types";
import { shortName } from "../models/choices";

/** "claude-sonnet · 4.1 s", once the answer is whole. "": nothing is known. */
export function usedBy(turn: ShownTurn, runs: readonly Run[]): { words: string; label: string } | null {
  const answers = turn.items.flatMap((item) => (item.kind === "text" ? [item.message] : []));
  const last = answers.at(-1);
  const model = answers.findLast((message) => message.model)?.model;
  if (!model || !last || last.status === "streaming") return null;
  const own = new Set([turn.user?.runId, ...answers.map((message) => message.runId)].filter(Boolean));
  const took = runs
    .filter((run) => own.has(run.runId) && run.startedAt !== null && run.endedAt !== null)
    .reduce((sum, run) => sum + (run.endedAt! - run.startedAt!), 0);
  return { words: [shortName(model.name), took ? seconds(took) : ""].filter(Boolean).join(" · "), label: model.label };
}
