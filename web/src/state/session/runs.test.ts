import { expect, test } from "vitest";
import type { RunResponse } from "../../api";
import { accept, add, ofRun, readQueue, remove } from "./queue";
import { answeredBy, begunSince, inputMessages, isFork, turnToReplay } from "./runs";

const run = (run_id: string, status: RunResponse["status"], kwargs: Record<string, unknown> = {}): RunResponse =>
  ({ run_id, status, kwargs }) as RunResponse;
const asking = (id: string, content: unknown = id) => ({ input: { messages: [{ type: "human", id, content }] } });
const answering = (id: string) => ({ input: null, command: { resume: { [id]: "yes" } } });
const ids = (runs: readonly RunResponse[]) => runs.map((each) => each.run_id);

test("what a run was started with: messages with an id, answers, a fork", () => {
  expect(inputMessages(run("r", "success", asking("m"))).map((message) => message.id)).toEqual(["m"]);
  expect(inputMessages(run("r", "success", { input: { messages: [{ type: "human" }, null] } }))).toEqual([]);
  expect(inputMessages(run("r", "success", { input: "a text" }))).toEqual([]);
  expect(answeredBy(run("r", "success", answering("i")))).toEqual(["i"]);
  expect(answeredBy(run("r", "success", asking("m")))).toEqual([]);
  expect(isFork(run("r", "success", { checkpoint: { checkpoint_id: "c" } }))).toBe(true);
  expect(isFork(run("r", "success", { checkpoint: null }))).toBe(false);
});

test("a turn that ended well, and waits for nobody, is not read again", () => {
  const done = run("done", "success", asking("m"));
  expect(turnToReplay([], false)).toBeNull();
  expect(turnToReplay([done], false)).toBeNull();
  expect(turnToReplay([run("next", "pending", asking("n"))], false)).toBeNull();
  expect(turnToReplay([done], true)?.run_id).toBe("done");
});

test("a turn is read again from its question, not from its last answer", () => {
  const runs = [
    run("waits", "pending", asking("n")),
    run("second answer", "running", answering("b")),
    run("first answer", "interrupted", answering("a")),
    run("question", "interrupted", asking("m")),
    run("before", "success", asking("l")),
  ];
  expect(turnToReplay(runs, false)?.run_id).toBe("question");
  // Its question is older than what the server listed: from the run itself.
  expect(turnToReplay(runs.slice(0, 2), false)?.run_id).toBe("second answer");
});

test("runs that have begun since: new ones, and such as waited then, oldest first", () => {
  const known = [run("waited", "pending"), run("old", "success")];
  const now = [run("waits", "pending"), run("new", "running"), run("waited", "success"), run("old", "success")];
  expect(ids(begunSince(known, now))).toEqual(["waited", "new"]);
  expect(begunSince(now, now)).toEqual([]);
});

test("the queue is what the server has not begun, oldest first", () => {
  const runs = [
    run("b", "pending", asking("second")),
    run("a", "pending", asking("first")),
    run("now", "running", asking("x")),
  ];
  expect(readQueue(runs)).toEqual([
    { id: "first", text: "first", pictures: [], runId: "a" },
    { id: "second", text: "second", pictures: [], runId: "b" },
  ]);
  expect(readQueue([run("a", "pending", asking("m", [{ type: "image" }]))])).toEqual([
    { id: "m", text: "", pictures: [], runId: "a" },
  ]);
});

test("a message in the queue is added, accepted by the server, and leaves by its run or its id", () => {
  const queue = add(add([], "1", "one"), "2", "two");
  expect(ofRun(queue, "r")).toBeUndefined();
  const accepted = accept(queue, "2", "r");
  expect(ofRun(accepted, "r")).toEqual({ id: "2", text: "two", pictures: [], runId: "r", steers: false });
  expect(remove(accepted, "2")).toEqual([{ id: "1", text: "one", pictures: [], runId: null }]);
  expect(queue.every((each) => each.runId === null)).toBe(true);
});
