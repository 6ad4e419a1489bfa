import { expect, test } from "vitest";
import type { ConnectedModel, Connection, Connections } from "../api/connections";
import { answering, nameOfChoice, readChoice, shortName } from "./choices";
import { isAllowed, offersOf } from "./offers";

const model = (name: string, more: Partial<ConnectedModel> = {}): ConnectedModel => ({
  name,
  title: null,
  tools: true,
  sees: null,
  writes: true,
  context: null,
  size_bytes: null,
  downloaded: null,
  status: null,
  progress: null,
  ...more,
});
const connection = (id: string, models: ConnectedModel[], more: Partial<Connection> = {}): Connection => ({
  id,
  provider: "openai",
  label: id,
  base_url: null,
  has_key: true,
  key_hint: null,
  source: "stored",
  variable: null,
  shared: false,
  mine: true,
  editable: true,
  problem: null,
  warning: null,
  models,
  limits: { per_user_day_usd: null, per_user_month_usd: null, month_usd: null },
  spent: { today_usd: 0, month_usd: 0, calls_month: 0 },
  ...more,
});
const known = (connections: Connection[], more: Partial<Connections> = {}): Connections => ({
  connections,
  providers: [],
  found: [],
  choice: { default: null, plan: null, write: null, judge: null },
  can_store: true,
  why_not: null,
  may_share: true,
  may_use_private_addresses: true,
  allowed: null,
  ...more,
});
const chosen = (connection: string, model: string) => ({ connection, model, label: "", reason: "your choice" });

test("only what can answer at once is offered", () => {
  const all = known(
    [
      connection("a", [model("gpt-5"), model("gpt-4")]),
      connection("b", [model("x")], { problem: "A package is missing." }),
      connection("local", [model("tiny", { writes: false }), model("big", { downloaded: false })], {
        provider: "local",
      }),
    ],
    { allowed: ["openai:gpt-5", "local:*"] },
  );
  expect(offersOf(all).map((offer) => [offer.connection.id, offer.models.map((each) => each.name)])).toEqual([
    ["a", ["gpt-5"]],
  ]);
});

test("an allow-list names models or whole providers", () => {
  expect(isAllowed(null, "openai", "x")).toBe(true);
  expect(isAllowed(["openai:*"], "openai", "x")).toBe(true);
  expect(isAllowed(["openai:x"], "openai", "y")).toBe(false);
  expect(isAllowed([], "openai", "y")).toBe(false);
});

test("a conversation's own choice answers while its connection is there", () => {
  const usual = { default: chosen("a", "gpt-5"), plan: null, write: null, judge: null };
  const all = known([connection("a", [model("gpt-5")]), connection("b", [model("x")])], { choice: usual });
  expect(answering(all, null)).toMatchObject({ connection: "a" });
  expect(answering(all, { connection: "b", model: "x" })).toEqual({ connection: "b", model: "x" });
  expect(answering(all, { connection: "gone", model: "x" })).toMatchObject({ connection: "a" });
});

test("a default that cannot write counts as none", () => {
  const usual = { default: chosen("local", "tiny"), plan: null, write: null, judge: null };
  const all = known([connection("local", [model("tiny", { writes: false })])], { choice: usual });
  expect(answering(all, null)).toBeNull();
});

test("models have names people can read", () => {
  const all = known([connection("a", [model("org/name", { title: "Name 1" })])]);
  expect(nameOfChoice(all, { connection: "a", model: "org/name" })).toBe("Name 1");
  expect(nameOfChoice(all, { connection: "a", model: "org/other" })).toBe("other");
  expect(shortName("llama3.1:8b")).toBe("llama3.1:8b");
});

test("what another client wrote into a thread's metadata is read with care", () => {
  expect(readChoice({ default: { connection: "a", model: "m", more: 1 } })).toEqual({ connection: "a", model: "m" });
  for (const other of [null, undefined, "x", [], {}, { default: "a:m" }, { default: { connection: 1, model: "m" } }])
    expect(readChoice(other)).toBeNull();
});
