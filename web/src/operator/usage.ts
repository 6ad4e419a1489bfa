/** Usage rows from the server, gathered for a chart by day and a table by thread. */

import { request, type Schemas } from "../api";
import { money, plural } from "../lib/words";

export type UsageRow = Schemas["UsageResponse"];

export interface Sum {
  key: string;
  runs: number;
  tokens: number;
  costUsd: number;
  /** Runs whose price nobody knows: the cost is that of the others. */
  unpriced: number;
  models: string[];
}

export interface Column {
  day: string;
  sum: Sum | null;
  /** From 0 to 1 of the highest. */
  height: number;
}

export function fetchUsage(
  group: "day" | "thread" | "owner" | "model",
  everybody: boolean,
  since: string | null,
): Promise<UsageRow[]> {
  const query = new URLSearchParams({ group_by: group, ...(since && everybody ? { since } : {}) });
  return request<UsageRow[]>(`/api/usage${everybody ? "/all" : ""}?${query}`);
}

/** The server gives a row for each key and model; here one for each key. */
export function sumUp(rows: readonly UsageRow[]): Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const sum = sums.get(row.key) ?? { key: row.key, runs: 0, tokens: 0, costUsd: 0, unpriced: 0, models: [] };
    // A run that used two models stands in two rows: the larger number is the honest one.
    sum.runs = Math.max(sum.runs, row.runs);
    sum.tokens += row.input_tokens + row.output_tokens;
    sum.costUsd += row.cost_usd ?? 0;
    sum.unpriced = Math.max(sum.unpriced, row.unpriced_runs);
    if (row.model && !sum.models.includes(row.model)) sum.models.push(row.model);
    sums.set(row.key, sum);
  }
  return [...sums.values()];
}

/** One column for each of the last days up to `today`, also for those on which nothing ran. */
export function columnsOf(sums: readonly Sum[], today: Date, days: number, of: (sum: Sum) => number): Column[] {
  const byDay = new Map(sums.map((sum) => [sum.key, sum]));
  const names = Array.from({ length: days }, (_, at) => {
    const day = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() - (days - 1 - at)));
    return day.toISOString().slice(0, 10);
  });
  const highest = Math.max(...names.map((day) => of(byDay.get(day) ?? EMPTY)), 0);
  return names.map((day) => {
    const sum = byDay.get(day) ?? null;
    return { day, sum, height: sum && highest ? of(sum) / highest : 0 };
  });
}

const EMPTY: Sum = { key: "", runs: 0, tokens: 0, costUsd: 0, unpriced: 0, models: [] };

export function costWords(sum: Sum): string {
  if (sum.unpriced >= sum.runs && sum.costUsd === 0 && sum.unpriced > 0) return "price not known";
  const rest = sum.unpriced ? ` and ${plural(sum.unpriced, "run")} without a price` : "";
  return `${money(sum.costUsd)}${rest}`;
}
