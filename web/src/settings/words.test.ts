import { expect, test } from "vitest";
import type { Connection, SpendRow, TestResult } from "../api/connections";
import { aboutModel, cleanKey, findingsOf, readAllowed, readUsd, sourceOf, spentWords, sumSpend, usd } from "./words";

const CONNECTION: Connection = {
  id: "c1",
  provider: "openai",
  label: "My OpenAI key",
  base_url: null,
  has_key: true,
  key_hint: "…wXyZ",
  source: "stored",
  variable: null,
  shared: false,
  mine: true,
  editable: true,
  problem: null,
  warning: null,
  models: [],
  limits: { per_user_day_usd: null, per_user_month_usd: null, month_usd: null },
  spent: { today_usd: 0, month_usd: 0, calls_month: 0 },
};

test("a pasted key loses spaces, line breaks, quotes and its variable", () => {
  for (const pasted of [
    " sk-ant-abc \n",
    "sk-ant-\nabc",
    '"sk-ant-abc"',
    "“sk-ant-abc”",
    "ANTHROPIC_API_KEY=sk-ant-abc",
    "export ANTHROPIC_API_KEY='sk-ant-abc'",
    "\u200bsk-ant-abc\ufeff",
  ])
    expect(cleanKey(pasted)).toBe("sk-ant-abc");
  expect(cleanKey("abc=def==")).toBe("abc=def==");
  expect(cleanKey("  ")).toBe("");
});

test("a connection says where it comes from", () => {
  expect(sourceOf(CONNECTION)).toBe("Key …wXyZ");
  expect(sourceOf({ ...CONNECTION, base_url: "http://h/v1", shared: true })).toBe(
    "Key …wXyZ · http://h/v1 · for everyone",
  );
  expect(sourceOf({ ...CONNECTION, source: "environment", variable: "ANTHROPIC_API_KEY" })).toBe(
    "Set by ANTHROPIC_API_KEY on the server",
  );
});

test("a test's findings say what is not known as well", () => {
  const result: TestResult = {
    ok: true,
    model: "m",
    answers: true,
    tools: false,
    streams: null,
    sees: null,
    latency_ms: 812,
    models: [],
    problem: null,
  };
  expect(findingsOf(result).map(({ is, words }) => [is, words])).toEqual([
    [true, "Answers"],
    [false, "Cannot call tools"],
    [null, "Streaming: not tested"],
    [true, "First word after 0.8 s"],
  ]);
});

test("a model's line has its size and what it can do", () => {
  const model = {
    name: "qwen",
    title: null,
    tools: true,
    sees: false,
    writes: true,
    context: 32768,
    size_bytes: 1_100_000_000,
    downloaded: false,
    status: null,
    progress: null,
  };
  expect(aboutModel(model)).toBe("1.1 GB · calls tools · reads 32,768 tokens");
  expect(aboutModel({ ...model, size_bytes: null, writes: false, tools: null, context: null })).toBe(
    "cannot write answers",
  );
});

test("money is read and written", () => {
  expect(readUsd("")).toBeNull();
  expect(readUsd("2.50")).toBe(2.5);
  expect(readUsd("$ 3")).toBeUndefined();
  expect(readUsd("$3")).toBe(3);
  expect(readUsd("2,50")).toBe(2.5);
  expect(readUsd("-1")).toBeUndefined();
  expect(readUsd("1e9")).toBeUndefined();
  expect([0, 0.004, 1.5].map(usd)).toEqual(["$0.00", "under $0.01", "$1.50"]);
  expect(spentWords(CONNECTION)).toBe("");
  expect(spentWords({ ...CONNECTION, spent: { today_usd: 0, month_usd: 0.41, calls_month: 12 } })).toBe(
    "12 calls this month, $0.41",
  );
  expect(spentWords({ ...CONNECTION, spent: { today_usd: 0, month_usd: 0, calls_month: 1 } })).toBe(
    "1 call this month",
  );
});

test("spend is summed per user and key, the dearest first", () => {
  const row = (user: string, connection: string, usd: number | null): SpendRow => ({
    user,
    connection,
    label: connection,
    day: "2026-01-01",
    calls: 1,
    input_tokens: 10,
    output_tokens: 5,
    usd,
  });
  const sums = sumSpend([row("ada", "a", 1), row("ada", "a", null), row("bob", "a", 3), row("ada", "b", null)]);
  expect(sums.map(({ user, label, calls, tokens, usd }) => [user, label, calls, tokens, usd])).toEqual([
    ["bob", "a", 1, 15, 3],
    ["ada", "a", 2, 30, 1],
    ["ada", "b", 1, 15, null],
  ]);
  const sameLabel = [row("ada", "a", 1), { ...row("ada", "b", 1), label: "a" }];
  expect(new Set(sumSpend(sameLabel).map(({ key }) => key)).size).toBe(2);
});

test("an empty allow-list allows everything", () => {
  expect(readAllowed("\n ")).toBeNull();
  expect(readAllowed("anthropic:*\n openai:gpt-5 \n")).toEqual(["anthropic:*", "openai:gpt-5"]);
});
