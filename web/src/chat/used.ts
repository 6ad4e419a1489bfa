// What an answer used: its model, and how long its runs took.

import { seconds } from "../lib/words";
import type { ShownTurn } from "./turns";
import type { Run, Step } from "../state/types";
import { shortName } from "../models/choices";

/** "claude-sonnet · 4.1 s", once the answer is whole. A report does not name its model: the last model that its runs asked wrote it. */
export function usedBy(
  turn: ShownTurn,
  runs: readonly Run[],
  steps: readonly Step[] = [],
): { words: string; label: string } | null {
  const answers = turn.items.flatMap((item) => (item.kind === "text" ? [item.message] : []));
  const last = answers.at(-1);
  const nodes = turn.items.flatMap((item) => (item.kind === "steps" ? item.steps : []));
  const own = new Set([turn.user, ...answers, ...nodes].map((each) => each?.runId).filter(Boolean));
  const asked = steps.findLast((step) => step.kind === "model" && own.has(step.runId))?.model ?? "";
  const model =
    answers.findLast((message) => message.model)?.model ??
    (last?.id.startsWith("report-") && asked && !asked.startsWith("script:")
      ? { name: asked.slice(asked.indexOf(":") + 1), label: "" }
      : null);
  if (!model || !last || last.status === "streaming") return null;
  const took = runs
    .filter((run) => own.has(run.runId) && run.startedAt !== null && run.endedAt !== null)
    .reduce((sum, run) => sum + (run.endedAt! - run.startedAt!), 0);
  return { words: [shortName(model.name), took ? seconds(took) : ""].filter(Boolean).join(" · "), label: model.label };
}
