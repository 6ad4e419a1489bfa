import { describe, expect, it } from "vitest";
import { columnsOf, costWords, sumUp, type UsageRow } from "./usage";

const row = (key: string, more: Partial<UsageRow> = {}): UsageRow => ({
  key,
  runs: 1,
  model: "m",
  calls: 1,
  input_tokens: 10,
  output_tokens: 5,
  cost_usd: 0.5,
  unpriced_runs: 0,
  ...more,
});

describe("usage", () => {
  it("adds the models of a key together", () => {
    expect(sumUp([row("a"), row("a", { model: "n", cost_usd: null, unpriced_runs: 1 }), row("b")])).toEqual([
      { key: "a", runs: 1, tokens: 30, costUsd: 0.5, unpriced: 1, models: ["m", "n"] },
      { key: "b", runs: 1, tokens: 15, costUsd: 0.5, unpriced: 0, models: ["m"] },
    ]);
  });

  it("has a column for every day, also for those without work", () => {
    const columns = columnsOf(
      sumUp([row("2026-02-28"), row("2026-03-02", { input_tokens: 25 })]),
      new Date("2026-03-02T23:00:00Z"),
      4,
      (sum) => sum.tokens,
    );
    expect(columns.map((column) => [column.day, column.height])).toEqual([
      ["2026-02-27", 0],
      ["2026-02-28", 0.5],
      ["2026-03-01", 0],
      ["2026-03-02", 1],
    ]);
  });

  it("never calls an unknown price zero", () => {
    expect(costWords(sumUp([row("a", { cost_usd: null, unpriced_runs: 1 })])[0]!)).toBe("price not known");
    expect(costWords(sumUp([row("a", { runs: 3, unpriced_runs: 1 })])[0]!)).toBe("0.50 USD and 1 run without a price");
    expect(costWords(sumUp([row("a", { cost_usd: 0 })])[0]!)).toBe("0.00 USD");
  });
});
