import { afterEach, expect, test, vi } from "vitest";
import type { Turn } from "../api/client";
import { provideContext } from "./message-context";
import { ThreadSession } from "./session.svelte";

afterEach(() => vi.unstubAllGlobals());

const reply = (body: unknown) =>
  new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } });
const page = (id: string, before: string | null = null) =>
  reply({ messages: [{ type: "human", id, content: id }], total: 2, next: before, checkpoint_id: `of-${id}` });
const turn = (id: string): Turn =>
  ({ turn_id: id, message_ids: [id], previous: null, last_checkpoint_id: id }) as unknown as Turn;

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
  session.history.turns = [turn("older"), turn("newer")];
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
  session.history.turns = [turn("older"), turn("newer")];
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
    arrived.push(
      (JSON.parse(String(init?.body)) as { input: { messages: { content: string }[] } }).input.messages[0]!.content,
    );
    return Promise.resolve(reply({ run_id: `run ${arrived.length}` }));
  });
  const leave = provideContext(async ({ text }) => {
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
    return keys.length === 1
      ? Promise.reject(new TypeError("the network is gone"))
      : Promise.resolve(reply({ run_id: "run" }));
  });
  const session = new ThreadSession("t");
  await session.send("hello", "assistant");
  await session.send("hello", "assistant");
  const [lost, again, other] = keys;
  expect(lost).toBe(session.view.messages[0]!.id);
  expect(again).toBe(lost);
  expect(other).not.toBe(lost);
});

/** Each post of a message is held until the test answers it. */
function holdPosts() {
  const [posts, cancelled]: [((response: Response) => void)[], string[]] = [[], []];
  vi.stubGlobal("fetch", (place: string, init?: RequestInit) => {
    if (place.includes("/cancel")) cancelled.push(place.split("/").at(-2)!);
    else if (init?.method === "POST") return new Promise<Response>((resolve) => posts.push(resolve));
    return Promise.resolve(reply([]));
  });
  return { posts, cancelled };
}
const streaming = (session: ThreadSession) =>
  session.dispatch({
    type: "events",
    events: [{ seq: 1, event: "metadata", data: { run_id: "working" }, at: 0 }],
  });

test("a message that is sent while a run works waits in the queue, and is shown nowhere else", async () => {
  const { posts } = holdPosts();
  const session = new ThreadSession("t");
  streaming(session);
  const sent = session.send("later", "assistant");
  expect(session.queued.map(({ text, runId }) => [text, runId])).toEqual([["later", null]]);
  await vi.waitFor(() => expect(posts).toHaveLength(1));
  posts[0]!(reply({ run_id: "next" }));
  await sent;
  expect(session.queued.map(({ text, runId }) => [text, runId])).toEqual([["later", "next"]]);
  expect(session.view.messages).toEqual([]);
});

test("a message that was taken back while it was on its way is cancelled once the server has it", async () => {
  const { posts, cancelled } = holdPosts();
  const session = new ThreadSession("t");
  streaming(session);
  const sent = session.send("never mind", "assistant");
  await vi.waitFor(() => expect(posts).toHaveLength(1));
  await session.unqueue(session.queued[0]!);
  expect(session.queued).toEqual([]);
  posts[0]!(reply({ run_id: "late" }));
  await sent;
  expect(cancelled).toEqual(["late"]);
  expect(session.view.messages).toEqual([]);
});

test("a message that was taken back before it was posted is not posted", async () => {
  const { posts } = holdPosts();
  const session = new ThreadSession("t");
  streaming(session);
  const preparing: (() => void)[] = [];
  const leave = provideContext(() => new Promise((resolve) => preparing.push(() => resolve({}))));
  const sent = session.send("never mind", "assistant");
  await vi.waitFor(() => expect(preparing).toHaveLength(1));
  await session.unqueue(session.queued[0]!);
  preparing[0]!();
  await sent;
  leave();
  expect(posts).toEqual([]);
});

test("a message that the server refuses leaves the view again, and the sender is told", async () => {
  const { posts } = holdPosts();
  const session = new ThreadSession("t");
  const sent = session.send("hello", "assistant");
  expect(shown(session)).toHaveLength(1);
  expect(session.view.phase).toBe("submitting");
  await vi.waitFor(() => expect(posts).toHaveLength(1));
  const refusal = JSON.stringify({ type: "urn:x", status: 402, detail: "This costs money." });
  posts[0]!(new Response(refusal, { status: 402, headers: { "Content-Type": "application/problem+json" } }));
  await expect(sent).rejects.toThrow("This costs money.");
  expect(shown(session)).toEqual([]);
  expect(session.working).toBe(false);
});
