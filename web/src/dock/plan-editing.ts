/**
 * A plan that waits for approval: shown with what it costs, edited step by step, and turned into an answer. Limits are the server's
 * (`schemas.py`), repeated here so that the page can say them before anything is sent; the server still decides.
 */

import { asObject, isObject, textOf, textsOf, type Json } from "../lib/json";
import { plural } from "../lib/words";
import { numberOf, TOOLS, type Plan, type PlanStep } from "./plan";

export const MOST_STEPS = 6;
export const MOST_INPUT = 500;
export const MOST_FOLLOW_UPS = 4;
export const MOST_SECTIONS = 6;

export interface Audit {
  verdict: string;
  violations: { rule: string; reason: string }[];
  suggestions: string[];
  /** Rules that no model could judge: id and text. */
  yours: { rule: string; text: string }[];
}

export interface PlanDraft {
  mode: "look" | "edit" | "reject";
  steps: PlanStep[];
  objective: string;
  reason: string;
  followUps: number | null;
  words: number | null;
  /** Section titles, one on a line. */
  outline: string;
}

export function readAudit(value: Json | undefined, rules: Json | undefined): Audit | null {
  if (!isObject(value)) return null;
  const texts = asObject(rules);
  const violations = Array.isArray(value.violations) ? value.violations.filter(isObject) : [];
  return {
    verdict: textOf(value.verdict),
    violations: violations.map((each) => ({ rule: textOf(each.rule), reason: textOf(each.reason) })),
    suggestions: textsOf(value.suggestions),
    yours: textsOf(value.leftToTheHuman ?? value.left_to_the_human).map((rule) => ({
      rule,
      text: textOf(texts[rule]),
    })),
  };
}

/** "At most 0.42 USD.", where it costs anything. */
export function costWords(value: Json | undefined): string {
  const cost = isObject(value) ? (value.costUsd ?? value.cost_usd) : null;
  return typeof cost === "number" && cost > 0 ? `At most ${cost.toFixed(2)} USD.` : "";
}

/** "At most 14 requests · 0 tokens · 0.00 USD", "No requests to the web · about 8,000 tokens to the model · 0.00 USD" */
export function estimateWords(value: Json | undefined): string {
  if (!isObject(value)) return "";
  const cost = value.costUsd ?? value.cost_usd;
  const money = typeof cost === "number" ? `${cost.toFixed(2)} USD` : "price not known";
  const [requests, many] = [numberOf(value.requests), numberOf(value.tokens)];
  const tokens = plural(many, "token");
  if (requests) return `At most ${plural(requests, "request")} · ${tokens} · ${money}`;
  return `No requests to the web · ${many ? `about ${tokens} to the model` : tokens} · ${money}`;
}

export function emptyDraft(plan: Plan): PlanDraft {
  return {
    mode: "look",
    steps: structuredClone(plan.steps),
    objective: plan.objective,
    reason: "",
    followUps: plan.followUps,
    words: plan.words,
    outline: plan.outline.join("\n"),
  };
}

/** The section titles of a draft. */
export const titlesOf = (outline: string): string[] =>
  outline
    .split("\n")
    .map((title) => title.trim())
    .filter(Boolean);

/** "The report: about 200 words; sections: Length, Cost." */
export function formWords({ words, outline }: Plan): string {
  const form = [words ? `about ${plural(words, "word")}` : "", outline.length ? `sections: ${outline.join(", ")}` : ""];
  return form.some(Boolean) ? `The report: ${form.filter(Boolean).join("; ")}.` : "";
}

/** What a step may do. The person's documents are searched only where some came along, and then a plan begins with them. */
export function toolsFor(plan: Plan): string[] {
  const has = (tool: string) => plan.steps.some((step) => step.tool === tool);
  return Object.keys(TOOLS).filter((tool) => (tool === "search_documents" ? has(tool) : !isLocal(plan.steps)));
}

/** What leaves the server for a plan that searches nothing but documents, as the server says it. */
export const sendsWords = (estimate: Json | undefined): string => textOf(asObject(estimate).sends);

/** Whether a plan searches nothing but the person's documents. */
export const isLocal = (steps: readonly PlanStep[]): boolean =>
  steps.length > 0 && steps.every((step) => step.tool === "search_documents");

/** "Up to 2 more searches may follow for names found in the first ones." */
export function followUpWords(followUps: number | null): string {
  if (followUps === null) return "";
  if (!followUps) return "No further searches follow.";
  return `Up to ${followUps === 1 ? "1 more search" : `${followUps} more searches`} may follow for names found in the first ones.`;
}

export function addStep(steps: PlanStep[]): PlanStep[] {
  return [
    ...steps,
    {
      id: "",
      tool: isLocal(steps) ? "search_documents" : "web_search",
      input: "",
      rationale: "",
      dependsOn: [],
      output: null,
    },
  ];
}

/** Without the step, and without waiting for it. */
export function removeStep(steps: PlanStep[], at: number): PlanStep[] {
  const gone = steps[at]?.id;
  return steps
    .filter((_, index) => index !== at)
    .map((step) => ({ ...step, dependsOn: step.dependsOn.filter((id) => id !== gone) }));
}

export function moveStep(steps: PlanStep[], at: number, by: -1 | 1): PlanStep[] {
  const to = at + by;
  if (to < 0 || to >= steps.length) return steps;
  const moved = [...steps];
  [moved[at], moved[to]] = [moved[to]!, moved[at]!];
  return moved;
}

/** A sentence for each step that cannot be sent, by index; `-1` is the plan itself. */
export function planFaults(draft: PlanDraft): Map<number, string> {
  const faults = new Map<number, string>();
  if (!draft.steps.length) faults.set(-1, "A plan needs at least one step. Add one, or reject the plan.");
  if (draft.steps.length > MOST_STEPS) faults.set(-1, `A plan has at most ${MOST_STEPS} steps.`);
  if (
    draft.followUps !== null &&
    !(Number.isInteger(draft.followUps) && draft.followUps >= 0 && draft.followUps <= MOST_FOLLOW_UPS)
  )
    faults.set(-1, `At most ${MOST_FOLLOW_UPS} searches may follow.`);
  if (draft.words !== null && !(Number.isInteger(draft.words) && draft.words >= 20 && draft.words <= 5000))
    faults.set(-1, "A report has from 20 to 5,000 words.");
  if (titlesOf(draft.outline).length > MOST_SECTIONS) faults.set(-1, `A report has at most ${MOST_SECTIONS} sections.`);
  if (!draft.objective.trim()) faults.set(-1, "Say what the plan is for.");
  draft.steps.forEach((step, at) => {
    const input = step.input.trim();
    if (!input)
      faults.set(at, step.tool === "fetch_page" ? "Write the address of the page." : "Write what to search for.");
    else if (input.length > MOST_INPUT) faults.set(at, `At most ${MOST_INPUT} characters; this has ${input.length}.`);
    else if (step.tool === "fetch_page" && !/^https?:\/\/\S+$/i.test(input))
      faults.set(at, "An address begins with https:// or http://.");
  });
  return faults;
}

export function isChanged(plan: Plan, draft: PlanDraft): boolean {
  const bare = (steps: PlanStep[]) =>
    JSON.stringify(steps.map((step) => [step.id, step.tool, step.input.trim(), step.dependsOn]));
  return (
    plan.objective !== draft.objective ||
    plan.followUps !== draft.followUps ||
    plan.words !== draft.words ||
    plan.outline.join("\n") !== titlesOf(draft.outline).join("\n") ||
    bare(plan.steps) !== bare(draft.steps)
  );
}

export function approveAnswer(): Json {
  return { decision: "approve" };
}

export function rejectAnswer(reason: string, stop: boolean): Json {
  return { decision: "reject", reason: reason.trim(), ...(stop ? { stop: true } : {}) };
}

export function editAnswer(plan: Plan, draft: PlanDraft): Json {
  const steps = draft.steps.map(({ id, tool, input, rationale, dependsOn }) => ({
    ...(id ? { id } : {}),
    tool,
    input: input.trim(),
    rationale,
    dependsOn,
  }));
  return {
    decision: "edit",
    plan: {
      objective: draft.objective.trim(),
      steps,
      estimatedTokenBudget: plan.estimatedTokenBudget,
      revision: plan.revision,
      ...(draft.followUps === null ? {} : { followUps: draft.followUps }),
      ...(draft.words === null ? {} : { words: draft.words }),
      ...(titlesOf(draft.outline).length ? { outline: titlesOf(draft.outline) } : {}),
    },
  };
}

/** "after steps 1 and 2" */
export function afterWords(step: PlanStep, steps: PlanStep[]): string {
  const numbers = step.dependsOn
    .map((id) => steps.findIndex((each) => each.id === id) + 1)
    .filter((number) => number > 0);
  if (!numbers.length) return "";
  return `after step${numbers.length > 1 ? "s" : ""} ${numbers.join(", ").replace(/, (\d+)$/, " and $1")}`;
}
