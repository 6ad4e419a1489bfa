import { afterEach, expect, test, vi } from "vitest";
import type { Turn } from "../api/client";
import { accompany } from "./companions";
import { ThreadSession } from "./session.svelte";

afterEach(() => vi.unstubAllGlobals());

const reply = (body: unknown) => new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } });
const page = (id: string, before: string | null = null) =>
  reply({ messages: [{ type: "human", id, content: id }], total: 2, next: before, checkpoint_id: `of-${id}` });
const turn = (id: string): Turn => ({ turn_id: id, message_ids: [id], previous: null, last_checkpoint_id: id }) as unknown as Turn;

/** A server with two versions of a message. What it says of the newest is held back until the test gives it. */
function serve() {
  const [held, asked]: [((response: Response) => void)[], string[]] = [[], []];
  vi.stubGlobal("fetch", (place: string) => {
    asked.push(place);
    if (place.includes("before=")) return Promise.resolve(page("first"));
    if (place.includes("checkpoint_id=older")) return Promise.resolve(page("older", "first"));
    if (place.includes("/messages?")) return new Promise<Response>((resolve) => held.push(resolve));
    return Promise.resolve(reply({ interrupts: [], turns: [], steps: [], next: null, values: {} }));
  });
  return { held, asked };
}

const shown = (session: ThreadSession) => session.view.messages.map((message) => message.id);

test("a snapshot that was asked for before another version was opened does not take its place", async () => {
  const { held, asked } = serve();
  const session = new ThreadSession("t");
  session.turns = [turn("older"), turn("newer")];
  const refreshing = session.refresh();
  await vi.waitFor(() => expect(held).toHaveLength(1));
  await session.showVersion(session.turns[0]!);
  held[0]!(page("newer"));
  await refreshing;
  expect(shown(session)).toEqual(["older"]);

  await session.loadEarlier();
  expect(asked.findLast((place) => place.includes("before="))).toContain("checkpoint_id=of-older");
  expect(shown(session)).toEqual(["first", "older"]);
});

test("of two versions that were asked for, the later one is shown, whichever comes first", async () => {
  const { held } = serve();
  const session = new ThreadSession("t");
  session.turns = [turn("older"), turn("newer")];
  const slow = session.showVersion(session.turns[1]!);
  await vi.waitFor(() => expect(held).toHaveLength(1));
  await session.showVersion(session.turns[0]!);
  held[0]!(page("newer"));
  await slow;
  expect(shown(session)).toEqual(["older"]);
  expect(session.branchCheckpoint).toBe("older");
});

test("messages arrive in the order in which they were sent, however long something takes that goes along", async () => {
  const [arrived, waiting]: [string[], (() => void)[]] = [[], []];
  vi.stubGlobal("fetch", (_: string, init?: RequestInit) => {
    arrived.push((JSON.parse(String(init?.body)) as { input: { messages: { content: string }[] } }).input.messages[0]!.content);
    return Promise.resolve(reply({ run_id: `run ${arrived.length}` }));
  });
  const leave = accompany(async ({ text }) => {
    if (text === "first") await new Promise<void>((resolve) => waiting.push(resolve));
    return {};
  });
  const session = new ThreadSession("t");
  const sent = ["first", "second"].map((words) => session.send(words, "assistant"));
  await vi.waitFor(() => expect(waiting).toHaveLength(1));
  waiting[0]!();
  await Promise.all(sent);
  leave();
  expect(arrived).toEqual(["first", "second"]);
});

test("a message whose answer was lost is sent again with the same key", async () => {
  const keys: (string | null)[] = [];
  vi.stubGlobal("fetch", (_: string, init?: RequestInit) => {
    if (init?.method !== "POST") return Promise.resolve(reply([])); // what the server knows of: nothing has arrived
    keys.push(new Headers(init.headers).get("Idempotency-Key"));
    return keys.length === 1 ? Promise.reject(new TypeError("the network is gone")) : Promise.resolve(reply({ run_id: "run" }));
  });
  const session = new ThreadSession("t");
  await session.send("hello", "assistant");
  await session.send("hello", "assistant");
  const [lost, again, other] = keys;
  expect(lost).toBe(session.view.messages[0]!.id);
  expect(again).toBe(lost);
  expect(other).not.toBe(lost);
});
