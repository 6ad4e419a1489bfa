/**
 * What was done, in words: one line for each step or group of like steps, in the past tense with its time; what is under way in the
 * present. Never raw JSON: arguments and results are details, on demand.
 */

import { seconds } from "../lib/words";
import type { JsonObject, Step, StepStatus } from "../state/types";

export interface Line {
  id: string;
  status: StepStatus;
  /** What was done, to be read first. */
  lead: string;
  /** Of what, from where. */
  rest: string;
  /** How long; null where nobody knows. */
  ms: number | null;
  steps: Step[];
}

interface Words {
  past: (count: number) => string;
  present: (count: number) => string;
  /** What it was about, from the arguments of all steps of the group. */
  about?: (args: JsonObject[]) => string;
  /** Several in a row become one line. */
  joins?: boolean;
}

const nth = (one: string, many: string) => (count: number) => (count === 1 ? one : many.replace("#", String(count)));

const TOOLS: Record<string, Words> = {
  ls: { past: nth("Listed a folder", "Listed # folders"), present: () => "Listing", about: list("path"), joins: true },
  read_file: {
    past: nth("Read", "Read # files"),
    present: nth("Reading", "Reading # files"),
    about: list("file_path"),
    joins: true,
  },
  write_file: { past: nth("Wrote", "Wrote # files"), present: () => "Writing", about: list("file_path"), joins: true },
  edit_file: { past: nth("Edited", "Made # edits in"), present: () => "Editing", about: list("file_path"), joins: true },
  glob: { past: () => "Looked for files", present: () => "Looking for files", about: list("pattern") },
  grep: { past: () => "Searched the files for", present: () => "Searching the files for", about: quoted("pattern") },
  execute: { past: nth("Ran", "Ran # commands"), present: () => "Running", about: list("command"), joins: true },
  write_todos: { past: () => "Updated the to-do list", present: () => "Updating the to-do list", joins: true },
  web_search: {
    past: nth("Searched the web for", "Searched the web # times, for"),
    present: () => "Searching the web for",
    about: quoted("query"),
    joins: true,
  },
  fetch_page: {
    past: nth("Read a page", "Read # pages"),
    present: nth("Reading a page", "Reading # pages"),
    about: ofHosts,
    joins: true,
  },
  fetch_url: {
    past: nth("Read a page", "Read # pages"),
    present: nth("Reading a page", "Reading # pages"),
    about: ofHosts,
    joins: true,
  },
  ask_choices: { past: () => "Asked you", present: () => "Asking you", about: quoted("question") },
  ask_user: { past: () => "Asked you", present: () => "Asking you", about: quoted("question") },
  think_tool: { past: () => "Thought it over", present: () => "Thinking it over" },
};

/** Nodes of research say more than "model" and "tools" do; other graphs' nodes are no news to a person. */
const NODES: Record<string, [past: string, present: string]> = {
  thinker: ["Made a plan", "Making a plan"],
  auditor: ["Audited the plan against the policy", "Auditing the plan against the policy"],
  tool_executor: ["Searched and read", "Searching and reading"],
  follow_up: ["Followed up on what was found", "Following up on what was found"],
  source_review: ["Had the sources reviewed", "Waiting for your review of the sources"],
  hitl_gate: ["You decided", "Waiting for your decision"],
  synthesizer: ["Wrote the report and checked every sentence", "Writing the report and checking every sentence"],
};

/** What a node said of its own work, and when (epoch milliseconds). */
export interface Saying {
  node: string;
  summary: string;
  at: number;
}

/** `said` may be of the whole thread: a node's step takes what was said in its time, each saying once. */
export function linesOf(steps: readonly Step[], said: readonly Saying[] = []): Line[] {
  const lines: Line[] = [];
  const words = wordsInTime(steps, said);
  for (const step of steps) {
    if (!isNews(step, words)) continue;
    const last = lines.at(-1);
    if (last && joins(last, step)) last.steps.push(step);
    else lines.push({ id: step.id, status: step.status, lead: "", rest: "", ms: null, steps: [step] });
  }
  return lines.map((line) => word(line, words));
}

/** Step id -> the summary nearest to its time, if one is near enough. The clocks of page and server may differ a little. */
function wordsInTime(steps: readonly Step[], said: readonly Saying[]): Record<string, string> {
  const words: Record<string, string> = {};
  const left = [...said];
  for (const step of steps) {
    if (step.kind !== "node" || step.status !== "done" || step.startedAt === null) continue;
    const [from, to] = [step.startedAt, step.endedAt ?? step.startedAt];
    const away = (each: Saying) => Math.max(0, from - each.at, each.at - to);
    const near = left
      .filter((each) => each.node === step.name && away(each) <= NEAR_MS)
      .sort((one, two) => away(one) - away(two))[0];
    if (!near) continue;
    words[step.id] = near.summary;
    left.splice(left.indexOf(near), 1);
  }
  return words;
}

const NEAR_MS = 5_000;

/** The step as one sentence, for a screen reader or a notification. */
export function sentenceOf(line: Line): string {
  return [line.lead, line.rest].filter(Boolean).join(" ");
}

/** Less than this is no news. */
const SHORTEST_MS = 100;

export function durationWords(ms: number | null): string {
  return ms === null || ms < SHORTEST_MS ? "" : seconds(ms);
}

/** Cents, and finer only where a cent would hide it. */
export function money(usd: number): string {
  return `${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)} USD`;
}

/** The time that a group took: from its first start to its last end. */
export function spanOf(steps: readonly Step[]): number | null {
  const starts = steps.map((step) => step.startedAt).filter((at) => at !== null);
  const ends = steps.map((step) => step.endedAt).filter((at) => at !== null);
  if (!starts.length || ends.length < steps.length) return null;
  return Math.max(0, Math.max(...ends) - Math.min(...starts));
}

/** A node that only asks is news when somebody was asked: then it has said something, or is at it. */
const ASKING = new Set(["source_review", "hitl_gate"]);

function isNews(step: Step, said: Record<string, string>): boolean {
  if (step.kind === "model") return false;
  if (step.kind !== "node") return true;
  return step.name in NODES && (!ASKING.has(step.name) || step.id in said);
}

function joins(line: Line, step: Step): boolean {
  const last = line.steps.at(-1)!;
  return (
    step.kind === "tool" &&
    last.kind === "tool" &&
    last.name === step.name &&
    last.status === step.status &&
    TOOLS[step.name]?.joins === true
  );
}

function word(line: Line, said: Record<string, string>): Line {
  const [first] = line.steps;
  const { status } = first!;
  const ongoing = status === "running" || status === "waiting";
  return { ...line, status, ms: ongoing ? null : spanOf(line.steps), ...phrase(line.steps, ongoing, said) };
}

function phrase(steps: Step[], ongoing: boolean, said: Record<string, string>): { lead: string; rest: string } {
  const step = steps[0]!;
  if (step.kind === "node") return { lead: NODES[step.name]![ongoing ? 1 : 0], rest: ongoing ? "" : (said[step.id] ?? "") };
  const args = steps.map((each) => each.args ?? {});
  if (step.kind === "subagent") {
    const asked = text(args[0]?.description);
    return {
      lead:
        step.status === "waiting" ? `${step.name} waits for you` : ongoing ? `${step.name} is at work` : `${step.name} finished`,
      rest: shorten(asked),
    };
  }
  const words = TOOLS[step.name];
  if (!words) return { lead: `${ongoing ? "Using" : "Used"} ${step.name}`, rest: shorten(firstText(args[0]!)) };
  if (step.status === "waiting")
    return { lead: `Waits for you: ${words.present(steps.length).toLowerCase()}`, rest: words.about?.(args) ?? "" };
  return { lead: (ongoing ? words.present : words.past)(steps.length), rest: words.about?.(args) ?? "" };
}

function list(name: string): (args: JsonObject[]) => string {
  return (args) => {
    const found = [...new Set(args.map((each) => text(each[name])).filter(Boolean))];
    return found.length > 3
      ? `${found.slice(0, 2).join(", ")} and ${found.length - 2} more`
      : found.map((each) => shorten(each)).join(", ");
  };
}

function quoted(name: string): (args: JsonObject[]) => string {
  return (args) =>
    [...new Set(args.map((each) => text(each[name])).filter(Boolean))].map((each) => `“${shorten(each)}”`).join(", ");
}

/** "of quellmouth.example and two others" */
function ofHosts(args: JsonObject[]): string {
  const hosts = [...new Set(args.map((each) => hostOf(text(each.url))).filter(Boolean))];
  if (!hosts.length) return "";
  const others =
    ["", " and another", " and two others", " and three others"][hosts.length - 1] ?? ` and ${hosts.length - 1} others`;
  return `of ${hosts[0]}${others}`;
}

export function hostOf(address: string): string {
  try {
    return new URL(address).hostname.replace(/^www\./, "");
  } catch {
    return "";
  }
}

function firstText(args: JsonObject): string {
  return Object.values(args).find((value) => typeof value === "string") ?? "";
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function shorten(value: string, most = 90): string {
  const line = value.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
