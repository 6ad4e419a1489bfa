/**
 * A plan of a research, read from the wire. Interrupts say camelCase, thread state says snake_case; both are read. What is done with a plan
 * that waits for approval is in `plan-editing.ts`.
 */

import { isObject, textOf, textsOf, type Json, type JsonObject } from "../lib/json";

export const TOOLS: Record<string, string> = {
  web_search: "Search the web",
  fetch_page: "Read a page",
  search_documents: "Search my documents",
};

export interface PlanStep {
  /** Kept for steps that others depend on; empty for one that was added here. */
  id: string;
  tool: string;
  input: string;
  rationale: string;
  dependsOn: string[];
  output: string | null;
}

export interface Plan {
  objective: string;
  steps: PlanStep[];
  estimatedTokenBudget: number;
  revision: number;
  /** How many more searches may follow from names found in the first round; null: a server that knows none. */
  followUps: number | null;
  /** How many words the report is to have; null: nobody said. */
  words: number | null;
  /** The report's sections; none: the writer decides. */
  outline: string[];
}

export function readPlan(value: Json | undefined): Plan | null {
  if (!isObject(value)) return null;
  const steps = Array.isArray(value.steps) ? value.steps.filter(isObject) : [];
  return {
    objective: textOf(value.objective),
    steps: steps.map(readStep),
    estimatedTokenBudget: numberOf(value.estimatedTokenBudget ?? value.estimated_token_budget),
    revision: numberOf(value.revision),
    followUps: countOf(value.followUps ?? value.follow_ups),
    words: countOf(value.words),
    outline: textsOf(value.outline),
  };
}

/** The demo of research brings its own pages, and searches nothing else. */
export const DEMO = "research_demo";

/** What a step does: "Search the web". */
export function toolWords(tool: string, graph?: string | null): string {
  return graph === DEMO && tool === "web_search" ? "Search the demo's own pages" : (TOOLS[tool] ?? tool);
}

/** "Search the web for", to be followed by what. */
export function leadWords(tool: string, graph?: string | null): string {
  return `${toolWords(tool, graph)}${tool === "fetch_page" ? ":" : " for"}`;
}

export function readStep(step: JsonObject): PlanStep {
  return {
    id: textOf(step.id),
    tool: textOf(step.tool) || "web_search",
    input: textOf(step.input),
    rationale: textOf(step.rationale),
    dependsOn: textsOf(step.dependsOn ?? step.depends_on),
    output: typeof step.output === "string" ? step.output : null,
  };
}

function countOf(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null;
}

export function numberOf(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}
