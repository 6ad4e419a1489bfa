import { expect, test } from "vitest";
import { chipsFor, QUICK_ACTIONS, saidBy, startersFor } from "./starters";

const assistant = (graphId: string, metadata = {}, demo = false) => ({ graphId, metadata, demo });

test("a demonstration offers only what its assistant says it can answer", () => {
  const texts = (given: ReturnType<typeof assistant>) => chipsFor(given, true).map((chip) => chip.text);
  expect(texts(assistant("demo_agent", { follow_ups: ["Which changes did I allow?"] }, true))).toEqual([
    "Which changes did I allow?",
  ]);
  expect(texts(assistant("demo_agent", {}, true))).toEqual([]);
});

test("without a model nothing reads what was said before, so research offers no way to go on from it", () => {
  expect(chipsFor(assistant("research"), false)).toEqual([]);
  expect(chipsFor(assistant("research"), true).length).toBeGreaterThan(0);
});

test("a quick action makes a question of what was written, and gives addresses to the research", () => {
  const started = Object.fromEntries(QUICK_ACTIONS.map((each) => [each.id, each.start]));
  expect(started["claim"]!(["Honey never spoils."])).toEqual({ text: "Is this true? Honey never spoils." });
  const [one, two] = ["https://a.example/1", "https://b.example/2"];
  expect(started["compare"]!([one, two]).input).toEqual({ context_urls: [one, two] });
  expect(started["source"]!(["a book"]).input).toBeUndefined();
});

test("graphs of other people get the agents' starters", () => {
  expect(startersFor("somebody_elses")).toBe(startersFor("simple_agent"));
  expect(startersFor("research")).toEqual([]);
});

test("a message that a chip sent reads as the chip does", () => {
  const [chip] = chipsFor(assistant("deeptutor"), true);
  expect(saidBy(chip!.text)).toBe("Check my argument");
  expect(saidBy("Say it in three points")).toBe("Say it in three points");
});
