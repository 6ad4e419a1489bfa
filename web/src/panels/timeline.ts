/**
 * Where the bars of a timeline stand. One lane for the agent and one for each subagent; bars that overlap get rows of their own.
 *
 * Hours may pass while a run waits for a person: stretches without any work longer than IDLE_MS are cut out and marked as breaks, so that
 * the work stays readable.
 */

import type { StepRecord } from "../api";

export interface Bar {
  record: StepRecord;
  /** From 0 to 1 of the width. */
  from: number;
  to: number;
  row: number;
}

export interface Lane {
  name: string;
  rows: number;
  bars: Bar[];
}

export interface Break {
  at: number;
  ms: number;
}

export interface Timeline {
  lanes: Lane[];
  breaks: Break[];
  /** Time worked, without breaks. */
  workedMs: number;
  tokens: number;
  /** Null where a price is not known. */
  costUsd: number | null;
  unpriced: number;
}

const NODES: Record<string, string> = {
  intake: "Read the question",
  thinker: "Planned the research",
  auditor: "Checked the plan",
  hitl_gate: "Your decision on the plan",
  source_review: "Your review of the sources",
  tool_executor: "Searched and read",
  search_retry: "Your decision on a retry",
  follow_up: "Looked for further names",
  synthesizer: "Wrote and checked the report",
};

/** A node of a middleware; with functions of the application's own, it checks something. */
const HOOKED = /(?:^|\.)(Hooks)?\w*Middleware\.(?:before|after)_(?:agent|model)$/;

/** A step's name in words: "Searched and read", "Write file", "walk-large". */
export function nameOf({ kind, name }: Pick<StepRecord, "kind" | "name">): string {
  if (kind === "model")
    return (
      name
        .slice(name.indexOf(":") + 1)
        .split("/")
        .at(-1) || name
    );
  const hooked = HOOKED.exec(name);
  if (hooked) return hooked[1] ? "Own checks" : "Preparation";
  const words = name.replaceAll("_", " ");
  return NODES[name] ?? (kind === "agent" ? name : words.slice(0, 1).toUpperCase() + words.slice(1));
}

const IDLE_MS = 1_500;
/** A break's share of the time worked. */
const BREAK_SHARE = 0.03;

interface Stretch {
  start: number;
  end: number;
  offset: number;
}

export function layOut(records: readonly StepRecord[]): Timeline | null {
  // A node's bar would only repeat the model and tool calls inside it, unless it is all there is.
  const parts = records.filter((record) => record.kind !== "node");
  const shown = parts.length ? [...parts, ...bareNodes(records, parts)] : [...records];
  if (!shown.length) return null;
  const stretches = stretchesOf(shown);
  const worked = stretches.reduce((sum, { start, end }) => sum + end - start, 0);
  const pause = Math.max(worked * BREAK_SHARE, 1);
  const total = worked + pause * (stretches.length - 1);
  stretches.forEach((stretch, at) => (stretch.offset += at * pause));
  const place = (moment: number) => {
    const inside = stretches.findLast((stretch) => stretch.start <= moment) ?? stretches[0]!;
    return (inside.offset + Math.min(moment, inside.end) - inside.start) / total;
  };
  const breaks = stretches
    .slice(1)
    .map((stretch, at) => ({ at: (stretch.offset - pause / 2) / total, ms: stretch.start - stretches[at]!.end }));
  return { lanes: lanesOf(shown, place), breaks, workedMs: workedIn(shown), ...sums(records) };
}

/** Nodes in which nothing else was recorded: graphs that are no agents consist of them. */
function bareNodes(records: readonly StepRecord[], parts: readonly StepRecord[]): StepRecord[] {
  const inside = (node: StepRecord) =>
    parts.some((part) => part.run_id === node.run_id && startOf(part) >= startOf(node) && endOf(part) <= endOf(node));
  return records.filter((record) => record.kind === "node" && !inside(record));
}

function stretchesOf(records: readonly StepRecord[]): Stretch[] {
  const stretches: Stretch[] = [];
  for (const record of [...records].sort((one, two) => startOf(one) - startOf(two))) {
    const last = stretches.at(-1);
    if (last && startOf(record) - last.end <= IDLE_MS) last.end = Math.max(last.end, endOf(record));
    else stretches.push({ start: startOf(record), end: endOf(record), offset: 0 });
  }
  let offset = 0;
  for (const stretch of stretches) {
    stretch.offset = offset;
    offset += Math.max(1, stretch.end - stretch.start);
    stretch.end = Math.max(stretch.end, stretch.start + 1);
  }
  return stretches;
}

/** Time in which anything was at work: what overlaps counts once. */
function workedIn(records: readonly StepRecord[]): number {
  let [worked, until] = [0, -Infinity];
  for (const record of [...records].sort((one, two) => startOf(one) - startOf(two))) {
    worked += Math.max(0, endOf(record) - Math.max(until, startOf(record)));
    until = Math.max(until, endOf(record));
  }
  return worked;
}

function lanesOf(records: readonly StepRecord[], place: (moment: number) => number): Lane[] {
  const lanes = new Map<string, Lane>();
  const ends = new Map<string, number[]>();
  for (const record of [...records].sort(
    (one, two) => startOf(one) - startOf(two) || two.duration_ms - one.duration_ms,
  )) {
    const name = record.agent ?? "";
    const lane = lanes.get(name) ?? { name, rows: 0, bars: [] };
    const taken = ends.get(name) ?? [];
    const free = taken.findIndex((end) => end <= startOf(record));
    const row = free < 0 ? taken.length : free;
    taken[row] = endOf(record);
    lanes.set(name, lane);
    ends.set(name, taken);
    lane.rows = taken.length;
    lane.bars.push({ record, from: place(startOf(record)), to: place(endOf(record)), row });
  }
  return [...lanes.values()].sort((one, two) => Number(one.name !== "") - Number(two.name !== ""));
}

function sums(records: readonly StepRecord[]): Pick<Timeline, "tokens" | "costUsd" | "unpriced"> {
  const calls = records.filter((record) => record.kind === "model");
  const priced = calls.filter((record) => record.cost_usd !== null);
  return {
    tokens: calls.reduce((sum, record) => sum + (record.input_tokens ?? 0) + (record.output_tokens ?? 0), 0),
    costUsd: calls.length && !priced.length ? null : priced.reduce((sum, record) => sum + record.cost_usd!, 0),
    unpriced: calls.length - priced.length,
  };
}

function startOf(record: StepRecord): number {
  return Date.parse(record.started_at);
}

function endOf(record: StepRecord): number {
  return startOf(record) + record.duration_ms;
}
