import { expect, test } from "vitest";
import type { ShownTurn } from "./turns";
import { readMessage } from "../state/messages";
import type { Message, Run, Step } from "../state/types";
import { usedBy } from "./used";

const run = (runId: string, startedAt: number | null, endedAt: number | null): Run => ({
  runId,
  status: "success",
  paused: false,
  attempt: 1,
  error: null,
  startedAt,
  endedAt,
});
const answer = (id: string, runId: string, model: unknown): Message =>
  readMessage({ type: "ai", id, content: "words", response_metadata: { stepwell_model: model } }, "", runId)!;
const turnOf = (...messages: Message[]): ShownTurn => ({
  key: "t",
  user: null,
  items: messages.map((message) => ({ kind: "text", key: message.id, message })),
});

test("an answer says which model wrote it and how long it took", () => {
  const model = { provider: "anthropic", model: "org/claude-sonnet", label: "Anthropic" };
  const runs = [run("r0", 0, 9_000), run("r1", 1_000, 5_100)];
  expect(usedBy(turnOf(answer("m", "r1", model)), runs)).toEqual({
    words: "claude-sonnet · 4.1 s",
    label: "Anthropic",
  });
  expect(usedBy(turnOf(answer("m", "r1", model)), [])?.words).toBe("claude-sonnet");
});

test("nothing is said of what is not known, nor while the answer comes", () => {
  expect(usedBy(turnOf(answer("m", "r", null)), [])).toBeNull();
  expect(usedBy(turnOf(answer("m", "r", { model: 1 })), [])).toBeNull();
  expect(usedBy(turnOf({ ...answer("m", "r", { model: "x" }), status: "streaming" }), [])).toBeNull();
});

test("a report is of the last model that its runs asked; a script is none", () => {
  const asked = (model: string, runId: string) =>
    ({ id: model, kind: "model", name: model, model, runId }) as unknown as Step;
  const report = turnOf(answer("report-q1-x", "r1", null));
  const steps = [asked("openai:walk-small", "r1"), asked("openai:walk-large", "r1"), asked("openai:other", "r2")];
  expect(usedBy(report, [run("r1", 0, 1_600)], steps)?.words).toBe("walk-large · 1.6 s");
  expect(usedBy(report, [], [asked("script:demo", "r1")])).toBeNull();
  expect(usedBy(turnOf(answer("m", "r1", null)), [], steps)).toBeNull();
});
