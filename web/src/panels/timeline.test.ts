import { describe, expect, it, test } from "vitest";
import type { StepRecord } from "../api";
import { layOut, nameOf } from "./timeline";

let number = 0;
const at = (seconds: number, duration_ms: number, more: Partial<StepRecord> = {}): StepRecord => ({
  number: ++number,
  run_id: "r",
  kind: "tool",
  name: "ls",
  node: null,
  agent: null,
  namespace: [],
  call_id: null,
  started_at: new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString(),
  duration_ms,
  status: "success",
  error: null,
  input_tokens: null,
  output_tokens: null,
  cost_usd: null,
  ...more,
});

test("steps are named in words", () => {
  expect(nameOf({ kind: "node", name: "tool_executor" })).toBe("Searched and read");
  expect(nameOf({ kind: "node", name: "hitl_gate" })).toBe("Your decision on the plan");
  expect(nameOf({ kind: "tool", name: "write_file" })).toBe("Write file");
  expect(nameOf({ kind: "model", name: "openai:org/walk-large" })).toBe("walk-large");
  expect(nameOf({ kind: "node", name: "no_cards+small_orders.HooksMiddleware.before_agent" })).toBe("Own checks");
  expect(nameOf({ kind: "node", name: "PatchToolCallsMiddleware.before_agent" })).toBe("Preparation");
  expect(nameOf({ kind: "agent", name: "researcher" })).toBe("researcher");
});

describe("layOut", () => {
  it("is nothing without records", () => {
    expect(layOut([])).toBe(null);
  });

  it("puts bars where their time is", () => {
    const { lanes, workedMs } = layOut([at(0, 1000), at(1.5, 500), at(3, 1000)])!;
    expect(workedMs).toBe(2500);
    expect(lanes[0]!.bars.map((bar) => [bar.from, bar.to])).toEqual([
      [0, 0.25],
      [0.375, 0.5],
      [0.75, 1],
    ]);
  });

  it("gives rows of their own to what overlaps, and a lane to each subagent", () => {
    const { lanes } = layOut([at(0, 2000, { agent: "checker" }), at(0, 2000), at(1, 2000), at(2, 500)])!;
    expect(lanes.map((lane) => [lane.name, lane.rows])).toEqual([
      ["", 2],
      ["checker", 1],
    ]);
    expect(lanes[0]!.bars.map((bar) => bar.row)).toEqual([0, 1, 0]);
  });

  it("cuts out the hours in which it waited", () => {
    const { breaks, workedMs, lanes } = layOut([at(0, 1000), at(7200, 1000)])!;
    expect(workedMs).toBe(2000);
    expect(breaks).toEqual([{ at: 0.5, ms: 7_199_000 }]);
    expect(lanes[0]!.bars[1]!.to).toBeCloseTo(1);
  });

  it("shows nodes only where nothing was recorded inside them", () => {
    const model = at(0, 900, { kind: "model", name: "m" });
    const names = (records: StepRecord[]) =>
      layOut(records)!.lanes.flatMap((lane) => lane.bars.map((bar) => bar.record.name));
    expect(
      names([model, at(0, 1000, { kind: "node", name: "model" }), at(1, 500, { kind: "node", name: "synthesizer" })]),
    ).toEqual(["m", "synthesizer"]);
  });

  it("adds up tokens and money, and says what has no price", () => {
    const call = (cost_usd: number | null) => at(0, 1, { kind: "model", input_tokens: 10, output_tokens: 5, cost_usd });
    expect(layOut([call(0.5), call(null)])).toMatchObject({ tokens: 30, costUsd: 0.5, unpriced: 1 });
    expect(layOut([call(null)])!.costUsd).toBe(null);
    expect(layOut([at(0, 0)])!.costUsd).toBe(0);
  });
});
