import { afterEach, expect, test, vi } from "vitest";
import { readThread } from "./snapshot";

afterEach(() => vi.unstubAllGlobals());

/** A server with one thread; its state is held back until the test gives it. */
function serve(runs: unknown[], interrupts: unknown[], status = "idle") {
  const [asked, states]: [string[], (() => void)[]] = [[], []];
  const reply = (body: unknown) => new Response(JSON.stringify(body));
  vi.stubGlobal("fetch", (place: string) => {
    asked.push(place);
    if (place.includes("/search"))
      return Promise.resolve(reply([{ thread_id: "t", status, metadata: { title: "Pumps" } }]));
    if (place.includes("/runs?")) return Promise.resolve(reply(runs));
    if (place.includes("/interrupts?")) return Promise.resolve(reply({ interrupts }));
    if (place.includes("/messages?"))
      return Promise.resolve(reply({ messages: [{ type: "human", id: "m", content: "hello" }], next: null }));
    const state = { values: { todos: ["look"] }, checkpoint: { checkpoint_id: "c" } };
    return new Promise((resolve) => states.push(() => resolve(reply(state))));
  });
  return { asked, states };
}

test("a thread at rest is there before the rest of its state", async () => {
  const { asked, states } = serve([{ run_id: "r", status: "success" }], []);
  const found = await readThread("t", null);
  expect(found!.snapshot).toMatchObject({ title: "Pumps", messages: [{ id: "m" }] });
  expect(found!.snapshot.values).toBeUndefined();
  await vi.waitFor(() => expect(states).toHaveLength(1));
  expect(asked.at(-1)).toContain("/state?");
  states[0]!();
  expect(await found!.rest).toEqual({ values: { todos: ["look"] }, checkpointId: "c" });
});

test.each([
  ["a run is under way", [{ run_id: "r", status: "running" }], []],
  ["a question is open", [{ run_id: "r", status: "interrupted" }], [{ id: "i", value: "Go on?" }]],
])("where %s the thread comes with its whole state", async (_, runs, interrupts) => {
  const { states } = serve(runs, interrupts);
  const reading = readThread("t", null);
  await vi.waitFor(() => expect(states).toHaveLength(1));
  states[0]!();
  const found = await reading;
  expect(found!.rest).toBeNull();
  expect(found!.snapshot).toMatchObject({ values: { todos: ["look"] }, checkpointId: "c", messages: [{ id: "m" }] });
});

test("of a thread that waits for an answer the state is asked for at once, and the caller hears of the question", async () => {
  const { asked, states } = serve([{ run_id: "r", status: "success" }], [{ id: "i", value: "Go on?" }], "interrupted");
  let expected = false;
  const reading = readThread("t", null, () => {
    expected = true;
  });
  await vi.waitFor(() => expect(states).toHaveLength(1));
  expect(expected).toBe(true);
  expect(asked.filter((place) => place.includes("/state?"))).toHaveLength(1);
  states[0]!();
  expect((await reading)!.snapshot).toMatchObject({ values: { todos: ["look"] }, checkpointId: "c" });
});
