/**
 * What was done, in words: one line for each step or group of like steps, in the past tense with its time; what is under way in the
 * present. Never raw JSON: arguments and results are details, on demand.
 */

import { textOf, type JsonObject } from "../lib/json";
import { seconds } from "../lib/words";
import type { Step, StepStatus } from "../state/types";

export interface Line {
  id: string;
  status: StepStatus;
  /** What was done, to be read first. */
  lead: string;
  /** Of what, from where. */
  rest: string;
  /** What else was said of it, to be opened. */
  more: string;
  /** How long; null where nobody knows. */
  ms: number | null;
  steps: Step[];
}

interface Words {
  past: (count: number) => string;
  present: (count: number) => string;
  /** Where it failed or was refused: what did not happen. */
  not?: string;
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
    not: "Not read:",
    about: list("file_path"),
    joins: true,
  },
  write_file: {
    past: nth("Wrote", "Wrote # files"),
    present: () => "Writing",
    not: "Not written:",
    about: list("file_path"),
    joins: true,
  },
  edit_file: {
    past: nth("Edited", "Made # edits in"),
    present: () => "Editing",
    not: "Not edited:",
    about: list("file_path"),
    joins: true,
  },
  delete: {
    past: nth("Deleted", "Deleted # times:"),
    present: () => "Deleting",
    not: "Not deleted:",
    about: list("file_path"),
    joins: true,
  },
  move: {
    past: () => "Moved",
    present: () => "Moving",
    not: "Not moved:",
    about: ([args]) => `${shorten(textOf(args?.source))} to ${shorten(textOf(args?.destination))}`,
  },
  glob: { past: () => "Found files named", present: () => "Finding files named", about: list("pattern") },
  grep: { past: () => "Searched the files for", present: () => "Searching the files for", about: quoted("pattern") },
  execute: { past: nth("Ran", "Ran # commands"), present: () => "Running", about: list("command"), joins: true },
  tool_search: {
    past: () => "Looked for tools:",
    present: () => "Looking for tools:",
    about: ([args]) => shorten(textOf(args?.query).replace(/^\s*select:\s*/i, "")),
  },
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
  start_async_task: {
    past: () => "Started",
    present: () => "Starting",
    not: "Not started:",
    about: ([args]) => `${textOf(args?.subagent_type)} in the background: ${shorten(textOf(args?.description))}`,
  },
  update_async_task: {
    past: () => "Sent to a background task:",
    present: () => "Sending to a background task:",
    not: "Not sent to a background task:",
    about: list("message"),
  },
  check_async_task: { past: () => "Checked on a background task", present: () => "Checking on a background task" },
  cancel_async_task: {
    past: () => "Stopped a background task",
    present: () => "Stopping a background task",
    not: "A background task was not stopped",
  },
  list_async_tasks: { past: () => "Checked the background tasks", present: () => "Checking the background tasks" },
  think_tool: { past: () => "Thought it over", present: () => "Thinking it over" },
};

/** Nodes of research say more than "model" and "tools" do; other graphs' nodes are no news to a person. */
const NODES: Record<string, [past: string, present: string]> = {
  thinker: ["Planned the research", "Planning the research"],
  auditor: ["Checked the plan against the policy", "Checking the plan against the policy"],
  tool_executor: ["Searched and read", "Searching and reading"],
  search_retry: ["Retried the search", "Waiting for your decision"],
  follow_up: ["Looked for further names", "Looking for further names"],
  source_review: ["You reviewed the sources", "Waiting for your review of the sources"],
  hitl_gate: ["You decided", "Waiting for your decision"],
  synthesizer: ["Wrote the report and checked every sentence", "Writing the report and checking every sentence"],
};
/** How a node says that it failed. */
const FAILED = /^Error: /;

/** What a node said of its own work, and when (epoch milliseconds). */
export interface Saying {
  node: string;
  summary: string;
  thought: string;
  at: number;
}

/**
 * `said` may be of the whole thread: a node's step takes what was said in its time, each saying once. `failure` is said below the lines: the
 * step that failed with it does not repeat it.
 */
export function linesOf(steps: readonly Step[], said: readonly Saying[] = [], failure = ""): Line[] {
  const lines: Line[] = [];
  const words = wordsInTime(steps, said);
  for (const step of steps) {
    if (!isNews(step, words)) continue;
    const last = lines.at(-1);
    if (last && joins(last, step)) last.steps.push(step);
    else lines.push({ id: step.id, status: step.status, lead: "", rest: "", more: "", ms: null, steps: [step] });
  }
  return lines.map((line) => word(line, words, failure));
}

/** Step id -> what was said nearest to its time, if one is near enough. The clocks of page and server may differ a little. */
function wordsInTime(steps: readonly Step[], said: readonly Saying[]): Record<string, Saying> {
  const words: Record<string, Saying> = {};
  const left = [...said];
  for (const step of steps) {
    if (step.kind !== "node" || step.status !== "done" || step.startedAt === null) continue;
    const [from, to] = [step.startedAt, step.endedAt ?? step.startedAt];
    const away = (each: Saying) => Math.max(0, from - each.at, each.at - to);
    const near = left
      .filter((each) => each.node === step.name && away(each) <= NEAR_MS)
      .sort((one, two) => away(one) - away(two))[0];
    if (!near) continue;
    words[step.id] = near;
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

/** The time that a group took: from its first start to its last end. */
export function spanOf(steps: readonly Step[]): number | null {
  const starts = steps.map((step) => step.startedAt).filter((at) => at !== null);
  const ends = steps.map((step) => step.endedAt).filter((at) => at !== null);
  if (!starts.length || ends.length < steps.length) return null;
  return Math.max(0, Math.max(...ends) - Math.min(...starts));
}

/** A node that only asks is news when somebody was asked: then it has said something, or is at it. */
const ASKING = new Set(["source_review", "hitl_gate", "search_retry"]);

function isNews(step: Step, said: Record<string, Saying>): boolean {
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
    last.refused === step.refused &&
    TOOLS[step.name]?.joins === true
  );
}

function word(line: Line, said: Record<string, Saying>, failure: string): Line {
  const first = line.steps[0]!;
  const summary = said[first.id]?.summary ?? "";
  const repeated = failure !== "" && summary.replace(FAILED, "") === failure;
  const status = FAILED.test(summary) || repeated ? "failed" : first.status;
  const ongoing = status === "running" || status === "waiting";
  const words =
    repeated && first.kind === "node"
      ? { lead: `${NODES[first.name]![1]} failed`, rest: "" }
      : phrase(line.steps, ongoing, said);
  return { ...line, status, ms: ongoing ? null : spanOf(line.steps), ...words };
}

type Phrase = { lead: string; rest: string; more?: string };

/** A node's own first sentence is its line; the rest and its thought open below. */
function nodePhrase(step: Step, ongoing: boolean, said: Saying | undefined): Phrase {
  const [past, present] = NODES[step.name]!;
  if (ongoing || !said?.summary) return { lead: ongoing ? present : past, rest: "", more: said?.thought };
  const summary = said.summary.replace(FAILED, "");
  const end = summary.search(/[.;](\s|$)/);
  const first = end < 0 ? summary : summary.slice(0, end);
  const others = end < 0 ? "" : summary.slice(end + 1).trim();
  return { lead: first, rest: "", more: [others, said.thought].filter(Boolean).join("\n\n") };
}

/** Files whose reading has words of its own: a skill, a picture. */
const READ_AS = /([^/]+)\/SKILL\.md$|([^/]+\.(?:png|jpe?g|gif|webp))$/i;

function phrase(steps: Step[], ongoing: boolean, said: Record<string, Saying>): Phrase {
  const step = steps[0]!;
  if (step.kind === "node") return nodePhrase(step, ongoing, said[step.id]);
  const args = steps.map((each) => each.args ?? {});
  if (step.kind === "subagent") {
    const asked = textOf(args[0]?.description);
    return {
      lead:
        step.status === "waiting"
          ? `${step.name} waits for you`
          : ongoing
            ? `${step.name} is working`
            : `${step.name} finished`,
      rest: shorten(asked),
    };
  }
  const words = TOOLS[step.name];
  const name = step.name.replaceAll("_", " ");
  if (!words)
    return {
      lead: `${step.refused ? "Not run:" : step.declined ? "Declined:" : ongoing ? "Running" : "Ran"} ${name}`,
      rest: shorten(firstText(args[0]!)),
    };
  const [, skill, picture] = READ_AS.exec(step.name === "read_file" ? textOf(args[0]?.file_path) : "") ?? [];
  const of = skill ?? picture;
  if (of && step.status === "done" && !steps[1]) return { lead: skill ? "Read the skill" : "Looked at", rest: of };
  if (step.status === "waiting")
    return { lead: `Waits for you: ${words.present(steps.length).toLowerCase()}`, rest: words.about?.(args) ?? "" };
  const done = (step.status === "failed" && (words.not ?? (step.refused && "Not run:"))) || words.past(steps.length);
  return { lead: ongoing ? words.present(steps.length) : done, rest: words.about?.(args) ?? "" };
}

function list(name: string): (args: JsonObject[]) => string {
  return (args) => {
    const found = [...new Set(args.map((each) => textOf(each[name])).filter(Boolean))];
    return found.length > 3
      ? `${found.slice(0, 2).join(", ")} and ${found.length - 2} more`
      : found.map((each) => shorten(each)).join(", ");
  };
}

function quoted(name: string): (args: JsonObject[]) => string {
  return (args) =>
    [...new Set(args.map((each) => textOf(each[name])).filter(Boolean))].map((each) => `“${shorten(each)}”`).join(", ");
}

/** "of quellmouth.example and two others" */
function ofHosts(args: JsonObject[]): string {
  const hosts = [...new Set(args.map((each) => hostOf(textOf(each.url))).filter(Boolean))];
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

export function shorten(value: string, most = 90): string {
  const line = value.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
