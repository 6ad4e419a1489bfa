// Connections, tests and money in words.

import { bytes, plural, seconds } from "../lib/words";
import type { ConnectedModel, Connection, SpendRow, TestResult } from "../api/connections";

/** A key as it was pasted: without spaces, line breaks, quotes, and the variable it stood behind. */
export function cleanKey(pasted: string): string {
  const bare = pasted.replace(/[\s\u200b-\u200d\u2060\ufeff]/g, "");
  const value = /^(?:export)?[A-Z][A-Z0-9_]*=(.+)$/.exec(bare)?.[1] ?? bare;
  return value.replace(/^(["'`“”‘’])(.*)\1;?$/, "$2").replace(/^[“‘](.*)[”’]$/, "$1");
}

/** Where a connection comes from, beside its name. */
export function sourceOf(connection: Connection): string {
  switch (connection.source) {
    case "environment":
      return connection.variable ? `Set by ${connection.variable} on the server` : "Set on the server";
    case "found":
      return "Found on this computer";
    case "embedded":
      return "Runs inside Stepwell; nothing leaves this computer";
    case "stored":
      return [
        connection.key_hint ? `Key ${connection.key_hint}` : connection.has_key ? "Key stored" : "No key",
        connection.base_url,
        connection.shared ? "for everyone" : connection.mine ? null : "of another user",
      ]
        .filter(Boolean)
        .join(" · ");
  }
}

/** What a test found, each with whether it is good news. Null in `is`: not known. */
export function findingsOf(result: TestResult): { is: boolean | null; words: string }[] {
  const said = (is: boolean | null, yes: string, no: string, unknown: string) => ({
    is,
    words: is === null ? unknown : is ? yes : no,
  });
  return [
    said(result.answers, "Answers", "Does not answer", "Not asked"),
    said(result.tools, "Calls tools", "Cannot call tools", "Tools: not tested"),
    said(result.streams, "Streams", "Does not stream", "Streaming: not tested"),
    ...(result.sees ? [{ is: true, words: "Sees images" }] : []),
    ...(result.latency_ms === null ? [] : [{ is: true, words: `First word after ${seconds(result.latency_ms)}` }]),
  ];
}

/** Size and abilities of a model, in one line. */
export function aboutModel(model: ConnectedModel): string {
  return [
    model.size_bytes ? bytes(model.size_bytes) : null,
    model.writes ? null : "cannot write answers",
    model.tools === true ? "calls tools" : model.tools === false ? "no tools" : null,
    model.sees ? "sees images" : null,
    model.context ? `reads ${model.context.toLocaleString("en")} tokens` : null,
  ]
    .filter(Boolean)
    .join(" · ");
}

export function usd(amount: number): string {
  return amount > 0 && amount < 0.01 ? "under $0.01" : `$${amount.toFixed(2)}`;
}

/** Without an amount where it is nothing: the price may just not be known. */
export function spentWords({ spent }: Connection): string {
  if (!spent.calls_month) return "";
  return `${plural(spent.calls_month, "call")} this month${spent.month_usd > 0 ? `, ${usd(spent.month_usd)}` : ""}`;
}

/** A limit as it is typed: nothing is no limit. Undefined: it is not an amount. */
export function readUsd(typed: string): number | null | undefined {
  const text = typed.trim().replace(/^\$/, "").replace(",", ".");
  if (text === "") return null;
  return /^\d{1,7}(\.\d{1,6})?$/.test(text) ? Number(text) : undefined;
}

export interface SpendSum {
  /** User and connection: labels may be the same. */
  readonly key: string;
  readonly user: string;
  readonly label: string;
  readonly calls: number;
  readonly tokens: number;
  /** Null: no price is known for any of it. */
  readonly usd: number | null;
}

/** Days summed up per user and key, the dearest first. */
export function sumSpend(rows: readonly SpendRow[]): SpendSum[] {
  const sums = new Map<string, SpendSum>();
  for (const row of rows) {
    const key = JSON.stringify([row.user, row.connection]);
    const sum = sums.get(key) ?? { key, user: row.user ?? "", label: row.label, calls: 0, tokens: 0, usd: null };
    sums.set(key, {
      ...sum,
      calls: sum.calls + row.calls,
      tokens: sum.tokens + row.input_tokens + row.output_tokens,
      usd: row.usd === null ? sum.usd : (sum.usd ?? 0) + row.usd,
    });
  }
  return [...sums.values()].sort((one, other) => (other.usd ?? 0) - (one.usd ?? 0) || other.tokens - one.tokens);
}

/** One entry a line: "anthropic:*". Empty: everything is allowed. */
export function readAllowed(typed: string): string[] | null {
  const lines = typed
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter(Boolean);
  return lines.length ? lines : null;
}
