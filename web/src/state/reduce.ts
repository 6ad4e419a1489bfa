// The one place where a thread's view changes: state = reduce(state, action). Pure and idempotent: events carry a sequence, and whatever is at
// or below the last one is dropped; a message that is whole is never added to by chunks that come again.
//
//   snapshot   what the server has now (messages, todos, files, interrupts, last run); replaces what it covers, keeps what it cannot know
//   events     what happened since, in order
//   earlier    a page of older messages, put in front
//   sent       the person's message, shown before the server has it
//   answered   interrupts that were answered here
//   records    the server's step records: times, tokens, cost

import type { StepRecord, WireInterrupt, WireMessage } from "../api";
import { isObject, type Json, type JsonObject } from "../lib/json";
import { changeFiles, readFiles } from "./files";
import { addChunk, isChunk, readMessage } from "./messages";
import {
  addRecords,
  adoptNode,
  endStep,
  finishStep,
  INNER_NODE,
  readArgs,
  readToolError,
  stepOfCall,
  stepOfNode,
} from "./steps";
import type {
  Message,
  Namespace,
  Phase,
  Run,
  RunStatus,
  Step,
  StreamEvent,
  Subagent,
  ThreadView,
  Todo,
  Waiting,
} from "./types";

export interface Snapshot {
  title?: string;
  assistantId?: string | null;
  graphId?: string | null;
  /** A page of messages, oldest first; absent: messages stay as they are. */
  messages?: WireMessage[];
  before?: string | null;
  /** The state's other fields. */
  values?: Record<string, unknown>;
  interrupts?: WireInterrupt[];
  checkpointId?: string | null;
  lastRun?: { runId: string; status: RunStatus; error?: string | null } | null;
  /** Messages that the snapshot does not have belong to another branch: forget them, but for text that streams now. */
  replaceMessages?: boolean;
}

export type Action =
  | { type: "snapshot"; snapshot: Snapshot }
  | { type: "events"; events: readonly StreamEvent[] }
  | { type: "earlier"; messages: WireMessage[]; before: string | null }
  | { type: "sent"; message: WireMessage; runId?: string | null }
  | { type: "unsent"; messageId: string }
  | { type: "submitting"; on: boolean }
  | { type: "answered"; ids: readonly string[] }
  | { type: "records"; records: readonly StepRecord[] };

export function emptyView(threadId: string): ThreadView {
  return {
    threadId,
    assistantId: null,
    graphId: null,
    title: "",
    phase: "idle",
    lastSeq: 0,
    messages: [],
    before: null,
    steps: [],
    agents: {},
    waiting: [],
    todos: [],
    files: {},
    values: {},
    runs: [],
    unknown: [],
    error: null,
    checkpointId: null,
  };
}

export function reduce(view: ThreadView, action: Action): ThreadView {
  const draft = new Draft(view);
  switch (action.type) {
    case "snapshot":
      draft.takeSnapshot(action.snapshot);
      break;
    case "events":
      for (const event of action.events) draft.takeEvent(event);
      break;
    case "earlier":
      draft.putInFront(action.messages, action.before);
      break;
    case "sent":
      draft.addWhole(action.message, "", action.runId ?? null);
      break;
    case "unsent":
      draft.forgetMessage(action.messageId);
      break;
    case "submitting":
      draft.submitting = action.on;
      break;
    case "answered":
      draft.closeInterrupts(action.ids);
      break;
    case "records":
      draft.steps = addRecords(draft.steps, action.records);
      break;
  }
  return draft.view();
}

const KNOWN_AND_UNUSED = new Set(["events", "debug", "checkpoints", "messages/metadata", "message"]);
const KEPT_UNKNOWN = 200;
const SHOWN_UNKNOWN = 2_000;
const REASONING_KEPT = 20;

/** A view that may be changed, for the length of one action. Lists are copied when first written to. */
class Draft {
  submitting: boolean;
  steps: readonly Step[];
  private messages: readonly Message[];
  private agents: Readonly<Record<string, Subagent>>;
  private waiting: readonly Waiting[];
  private files;
  private todos;
  private values;
  private runs: readonly Run[];
  private unknown;
  private error;
  private lastSeq;
  private rest;
  private readonly fresh = new Set<unknown>();

  constructor(private readonly start: ThreadView) {
    this.submitting = start.phase === "submitting";
    ({
      messages: this.messages,
      steps: this.steps,
      agents: this.agents,
      waiting: this.waiting,
      files: this.files,
    } = start);
    ({
      todos: this.todos,
      values: this.values,
      runs: this.runs,
      unknown: this.unknown,
      error: this.error,
      lastSeq: this.lastSeq,
    } = start);
    const { title, assistantId, graphId, before, checkpointId } = start;
    this.rest = { title, assistantId, graphId, before, checkpointId };
  }

  view(): ThreadView {
    const { messages, steps, agents, waiting, files, todos, values, runs, unknown, error, lastSeq } = this;
    const phase = this.phase();
    return {
      threadId: this.start.threadId,
      ...this.rest,
      messages,
      steps,
      agents,
      waiting,
      files,
      todos,
      values,
      runs,
      unknown,
      error,
      lastSeq,
      phase,
    };
  }

  private phase(): Phase {
    if (this.activeRun()) return "streaming";
    if (this.submitting) return "submitting";
    if (this.waiting.length) return "waiting";
    const last = this.runs.at(-1);
    if (!last) return this.messages.length ? "done" : "idle";
    if (last.status === "error" || last.status === "timeout") return "failed";
    return last.status === "interrupted" ? "cancelled" : "done";
  }

  private activeRun(): Run | undefined {
    return this.runs.findLast((run) => run.status === "running" || run.status === "pending");
  }

  // Snapshot ---------------------------------------------------------------------------------------------------------------------

  takeSnapshot(snapshot: Snapshot): void {
    const { title, assistantId, graphId, checkpointId, messages } = snapshot;
    if (title !== undefined) this.rest.title = title;
    if (assistantId !== undefined) this.rest.assistantId = assistantId;
    if (graphId !== undefined) this.rest.graphId = graphId;
    if (checkpointId !== undefined) this.rest.checkpointId = checkpointId;
    if (messages) this.mergeMessages(messages, snapshot.before ?? null, snapshot.replaceMessages ?? false);
    if (snapshot.values) this.takeValues(snapshot.values);
    if (snapshot.lastRun)
      this.setRun(snapshot.lastRun.runId, { status: snapshot.lastRun.status, error: snapshot.lastRun.error ?? null });
    if (snapshot.lastRun?.error) this.error = snapshot.lastRun.error;
    if (snapshot.interrupts)
      this.waiting = snapshot.interrupts.map((each) => this.readInterrupt(each, "")).filter((each) => each !== null);
    if (!this.activeRun()) this.endOpenSteps();
  }

  /** The server's page is the truth about order and about what is whole. What it does not have yet (text that streams, a message on its way) stays after it. */
  private mergeMessages(wires: WireMessage[], before: string | null, replace: boolean): void {
    const page = wires.map((wire) => readMessage(wire, "", null)).filter((message) => message !== null);
    const ids = new Set(page.map((message) => message.id));
    const first = page[0];
    const joint = first ? this.messages.findIndex((message) => message.id === first.id) : -1;
    const known = new Map(this.messages.map((message) => [message.id, message]));
    const earlier = joint > 0 ? this.messages.slice(0, joint).filter((message) => !ids.has(message.id)) : [];
    const later = this.messages
      .slice(Math.max(joint, 0))
      .filter((message) => !ids.has(message.id) && this.isUnderWay(message, replace));
    const merged = page.map((message) => {
      const old = known.get(message.id);
      return old ? { ...message, runId: old.runId, createdAt: old.createdAt } : message;
    });
    if (replace) this.forgetStepsBeyond(ids);
    this.messages = [...earlier, ...merged, ...later];
    if (joint <= 0) this.rest.before = before;
    for (const message of merged) this.noteSteps(message);
  }

  /** Whether the server need not have this message yet. */
  private isUnderWay(message: Message, strict: boolean): boolean {
    if (message.status !== "done") return message.status === "streaming" || !strict;
    const run = this.runs.find((each) => each.runId === message.runId);
    return message.role === "user" && !strict && (!run || run.status === "running" || run.status === "pending");
  }

  putInFront(wires: WireMessage[], before: string | null): void {
    const known = new Set(this.messages.map((message) => message.id));
    const page = wires
      .map((wire) => readMessage(wire, "", null))
      .filter((message) => message !== null && !known.has(message.id)) as Message[];
    const later = this.steps;
    this.steps = [];
    for (const message of page) this.noteSteps(message);
    this.endOpenSteps();
    const own = new Set(this.steps.map((step) => step.id));
    this.steps = [...this.steps, ...later.filter((step) => !own.has(step.id))];
    this.messages = [...page, ...this.messages];
    this.rest.before = before;
  }

  private forgetStepsBeyond(ids: ReadonlySet<string>): void {
    const calls = new Set(
      this.messages
        .filter((message) => ids.has(message.id))
        .flatMap((message) => message.toolCalls.map((call) => call.id)),
    );
    this.steps = this.steps.filter(
      (step) => step.toolCallId === null || step.namespace !== "" || calls.has(step.toolCallId),
    );
    this.agents = Object.fromEntries(Object.entries(this.agents).filter(([key]) => calls.has(key)));
  }

  /** Fields of the state, from a snapshot or a `values` event. */
  private takeValues(values: Record<string, unknown>): void {
    const { messages: _, todos, files, ...others } = values;
    if (todos !== undefined) this.todos = readTodos(todos);
    if (files !== undefined) this.files = readFiles(files, this.files);
    this.values = { ...this.values, ...(others as JsonObject) };
    delete this.values["__interrupt__"];
  }

  // Events -----------------------------------------------------------------------------------------------------------------------

  takeEvent(event: StreamEvent): void {
    if (event.seq > 0 && event.seq <= this.lastSeq) return;
    if (event.seq > 0) this.lastSeq = event.seq;
    const [name = "", ...path] = event.event.split("|");
    const namespace = path.join("|");
    const { data, at } = event;
    switch (name) {
      case "metadata":
        return this.takeMetadata(data, at);
      case "messages":
        return this.takeMessagePair(data, namespace);
      case "messages/partial":
      case "messages/complete":
        return this.takeMessageList(data, namespace, name === "messages/complete");
      case "updates":
        return this.takeUpdates(data, namespace);
      case "values":
        return this.takeValuesEvent(data, namespace);
      case "tools":
        return this.takeTool(data, namespace, at);
      case "tasks":
        return this.takeTask(data, namespace, at);
      case "lifecycle":
        return this.takeLifecycle(data);
      case "error":
        return this.takeError(data);
      case "end":
        return this.takeEnd(data, at);
      case "custom":
        return this.takeCustom(event);
      default:
        if (!KNOWN_AND_UNUSED.has(name)) this.keepUnknown(event);
    }
  }

  private takeMetadata(data: unknown, at: number): void {
    if (!isObject(data) || typeof data["run_id"] !== "string") return;
    const attempt = typeof data["attempt"] === "number" ? data["attempt"] : 1;
    this.submitting = false;
    this.error = null;
    if (attempt > 1) this.dropUnkept(data["run_id"]);
    this.setRun(data["run_id"], { status: "running", attempt, startedAt: at, paused: false });
    this.takeUpWaiting();
  }

  /** A run that begins takes up what waited for an answer. */
  private takeUpWaiting(): void {
    if (this.steps.some((step) => step.status === "waiting")) {
      // A tool is called again: what a person waited is not its time.
      this.steps = this.steps.map((step) =>
        step.status === "waiting"
          ? { ...step, status: "running", startedAt: step.kind === "tool" ? null : step.startedAt }
          : step,
      );
    }
    this.agents = mapValues(this.agents, (agent) =>
      agent.status === "waiting" ? { ...agent, status: "running" } : agent,
    );
  }

  /** A run that is driven again says anew what no checkpoint held. */
  private dropUnkept(runId: string): void {
    const kept = (message: Message) => message.runId !== runId || message.status === "done";
    this.messages = this.messages.filter(kept);
    this.agents = mapValues(this.agents, (agent) => ({ ...agent, messages: agent.messages.filter(kept) }));
  }

  private takeMessagePair(data: unknown, namespace: Namespace): void {
    if (!Array.isArray(data) || !isObject(data[0])) return;
    const wire = data[0] as WireMessage;
    const about = isObject(data[1]) ? data[1] : {};
    const runId = typeof about["run_id"] === "string" ? about["run_id"] : this.currentRunId();
    if (namespace) this.openAgent(namespace, about["lc_agent_name"]);
    if (isChunk(wire)) this.addPiece(wire, namespace, runId);
    else this.addWhole(wire, namespace, runId);
  }

  private takeMessageList(data: unknown, namespace: Namespace, whole: boolean): void {
    if (!Array.isArray(data)) return;
    for (const wire of data.filter(isObject) as WireMessage[]) {
      const message = readMessage({ ...wire, type: isChunk(wire) ? "ai" : wire.type }, namespace, this.currentRunId());
      if (!message) continue;
      if (whole || message.role !== "agent") this.put({ ...message, status: "done" }, namespace);
      else this.put({ ...message, status: "streaming" }, namespace);
    }
  }

  private takeUpdates(data: unknown, namespace: Namespace): void {
    if (!isObject(data)) return;
    for (const [node, update] of Object.entries(data)) {
      if (node === "__interrupt__") this.openInterrupts(update, namespace);
      else
        for (const each of Array.isArray(update) ? update : [update])
          if (isObject(each)) this.takeUpdate(each, namespace);
    }
  }

  private takeUpdate(update: Record<string, unknown>, namespace: Namespace): void {
    // A step says what it changed of an argument; the whole of it comes with the snapshot at the run's end.
    // Checks of answers come as events, too.
    const { messages, todos, files, reasoning, argument: _, checks: __, grading: ___, ...others } = update;
    for (const wire of (Array.isArray(messages) ? messages : [messages]).filter(isObject) as WireMessage[]) {
      if (wire.type === "remove" && wire.id) this.forgetMessage(wire.id);
      else if (wire.id) this.addWhole(wire, namespace, this.currentRunId());
    }
    if (files !== undefined) this.files = changeFiles(this.files, files);
    if (namespace) return;
    if (todos !== undefined) this.todos = readTodos(todos);
    if (Array.isArray(reasoning)) this.addReasoning(reasoning);
    if (Object.keys(others).length) this.values = { ...this.values, ...(others as JsonObject) };
  }

  /** The one field that steps append to. An entry that is there already is the same one, told again. */
  private addReasoning(entries: unknown[]): void {
    const before = Array.isArray(this.values["reasoning"]) ? this.values["reasoning"] : [];
    const known = new Set(before.map((entry) => JSON.stringify(entry)));
    const news = entries.filter((entry) => !known.has(JSON.stringify(entry)));
    this.values = { ...this.values, reasoning: [...before, ...news].slice(-REASONING_KEPT) as JsonObject[] };
  }

  private takeValuesEvent(data: unknown, namespace: Namespace): void {
    if (!isObject(data) || namespace) return;
    this.takeValues(data);
    if (Array.isArray(data["messages"]))
      this.mergeMessages(data["messages"].filter(isObject) as WireMessage[], this.rest.before, false);
  }

  private takeTool(data: unknown, namespace: Namespace, at: number): void {
    if (!isObject(data) || typeof data["toolCallId"] !== "string") return;
    const id = data["toolCallId"];
    const name = typeof data["name"] === "string" ? data["name"] : "";
    const known = this.steps.find((step) => step.id === id);
    const step =
      known ?? stepOfCall({ id, name, args: readArgs(data["input"]), argsText: "" }, namespace, this.currentRunId());
    if (data["event"] === "on_tool_start") {
      const under = known && known.status !== "waiting" ? known.status : "running";
      this.putStep({
        ...step,
        status: under,
        startedAt: step.startedAt ?? at,
        args: step.args ?? readArgs(data["input"]),
      });
    } else if (data["event"] === "on_tool_end")
      this.putStep({ ...step, endedAt: endOf(step, at), status: step.status === "running" ? "done" : step.status });
    else if (data["event"] === "on_tool_error") {
      // An interrupt leaves a tool as an error does; the run's end tells which it was.
      if (step.status === "running")
        this.putStep({
          ...step,
          endedAt: endOf(step, at),
          status: "failed",
          error: readToolError(data["error"] ?? data["message"]),
        });
    }
  }

  private takeTask(data: unknown, namespace: Namespace, at: number): void {
    if (!isObject(data) || namespace || typeof data["id"] !== "string" || typeof data["name"] !== "string") return;
    if (INNER_NODE.test(data["name"])) return;
    this.adoptRecord(data["id"], data["name"]);
    const known = this.steps.find((step) => step.id === data["id"]);
    if (!("result" in data)) {
      const step = known ?? stepOfNode(data["id"], data["name"], namespace, this.currentRunId(), at);
      if (step.status !== "done") this.putStep({ ...step, status: "running" });
      return;
    }
    if (!known) return;
    const asked = Array.isArray(data["interrupts"]) && data["interrupts"].length > 0;
    const error = typeof data["error"] === "string" ? data["error"] : null;
    this.putStep({ ...known, endedAt: endOf(known, at), error, status: error ? "failed" : asked ? "waiting" : "done" });
  }

  private adoptRecord(id: string, name: string): void {
    if (this.steps.some((step) => step.id === id)) return;
    this.steps = adoptNode(this.steps, id, name, this.currentRunId()) ?? this.steps;
  }

  private takeLifecycle(data: unknown): void {
    if (!isObject(data) || !Array.isArray(data["namespace"])) return;
    const namespace = data["namespace"].join("|");
    if (!namespace) return;
    const cause = isObject(data["cause"]) ? data["cause"]["tool_call_id"] : null;
    if (data["event"] === "started")
      this.openAgent(namespace, data["graph_name"], typeof cause === "string" ? cause : null);
    else {
      const agent = this.agentAt(namespace);
      const status = { completed: "done", interrupted: "waiting", failed: "failed" }[String(data["event"])] as
        Subagent["status"] | undefined;
      if (agent && status) this.putAgent({ ...agent, status });
    }
  }

  private takeError(data: unknown): void {
    const message = isObject(data) ? (data["message"] ?? data["error"]) : data;
    this.error = typeof message === "string" && message ? message : "The run failed without saying why.";
  }

  private takeEnd(data: unknown, at: number): void {
    if (!isObject(data) || typeof data["run_id"] !== "string") return;
    const status = (typeof data["status"] === "string" ? data["status"] : "success") as RunStatus;
    const paused = data["paused"] === true;
    // Taken back while it was queued.
    if (status === "interrupted" && !this.runs.some((run) => run.runId === data["run_id"])) return;
    this.setRun(data["run_id"], { status, paused, endedAt: at, error: status === "success" ? null : this.error });
    // What is still open was asked again by this run.
    this.waiting = paused ? this.waiting.filter((each) => each.runId == null || each.runId === data["run_id"]) : [];
    this.closeMessages(status === "success" ? "done" : "stopped");
    if (!this.activeRun()) this.endOpenSteps();
  }

  private takeCustom(event: StreamEvent): void {
    const { data } = event;
    // The answer was requested again, or a check replaced it: remove what was shown of it.
    if (isObject(data) && typeof data["message_id"] === "string" && /^model_(retry|fallback)$/.test(`${data["type"]}`))
      this.forgetMessage(data["message_id"]);
    else if (isObject(data) && /^rubric_/.test(`${data["type"]}`)) this.addCheck(data);
    // Messages that were sent to the run: the answer that follows has read them.
    else if (isObject(data) && data["type"] === "steered") this.takeUpdate(data, "");
    else this.keepUnknown(event);
  }

  /** The check of an answer that begins, or has ended: then it is what the state has under the answer's id. */
  private addCheck(data: Record<string, unknown>): void {
    const before = this.values["checks"];
    if (typeof data["message_id"] !== "string") return;
    const checks = { ...(isObject(before) ? before : {}), [data["message_id"]]: data as JsonObject };
    this.values = { ...this.values, checks };
  }

  private keepUnknown(event: StreamEvent): void {
    const data = JSON.stringify(event.data) ?? "";
    this.unknown = [...this.unknown, { seq: event.seq, event: event.event, data: data.slice(0, SHOWN_UNKNOWN) }].slice(
      -KEPT_UNKNOWN,
    );
  }

  // Messages ---------------------------------------------------------------------------------------------------------------------

  private addPiece(wire: WireMessage, namespace: Namespace, runId: string | null): void {
    const before = this.find(wire.id ?? "", namespace);
    if (before && before.status !== "streaming") return;
    const message = addChunk(before ?? null, wire, namespace, runId);
    if (!message) return;
    this.put(message, namespace);
    if (wire.tool_call_chunks?.some((chunk) => chunk.id)) this.noteSteps(message);
  }

  addWhole(wire: WireMessage, namespace: Namespace, runId: string | null): void {
    const message = readMessage(wire, namespace, runId);
    if (!message) return;
    const old = this.find(message.id, namespace);
    // The same message again (a node that only hands it on) keeps its place and its run.
    this.put(old ? { ...message, runId: old.runId ?? runId } : message, namespace);
    this.noteSteps(message);
  }

  private listAt(namespace: Namespace): readonly Message[] {
    return namespace ? (this.agentAt(namespace)?.messages ?? []) : this.messages;
  }

  private find(id: string, namespace: Namespace): Message | undefined {
    return this.listAt(namespace).findLast((message) => message.id === id);
  }

  private put(message: Message, namespace: Namespace): void {
    const list = this.listAt(namespace);
    const at = list.findLastIndex((each) => each.id === message.id);
    const next = this.fresh.has(list) ? (list as Message[]) : [...list];
    if (at !== -1) next[at] = message;
    else next.splice(placeOf(message, next), 0, message);
    this.fresh.add(next);
    if (!namespace) this.messages = next;
    else this.putAgent({ ...this.openAgent(namespace), messages: next });
  }

  forgetMessage(id: string): void {
    const rest = (messages: readonly Message[]) => messages.filter((message) => message.id !== id);
    this.messages = rest(this.messages);
    this.agents = mapValues(this.agents, (agent) => ({ ...agent, messages: rest(agent.messages) }));
  }

  private closeMessages(status: "done" | "stopped"): void {
    const close = (message: Message): Message => (message.status === "streaming" ? { ...message, status } : message);
    if (this.messages.some((message) => message.status === "streaming")) this.messages = this.messages.map(close);
    this.agents = mapValues(this.agents, (agent) => ({ ...agent, messages: agent.messages.map(close) }));
  }

  // Steps and subagents ----------------------------------------------------------------------------------------------------------

  /** Calls of a message become steps; a result finishes its step. */
  private noteSteps(message: Message): void {
    for (const call of message.toolCalls) {
      if (!call.id) continue;
      const known = this.steps.find((step) => step.id === call.id);
      const step = stepOfCall(call, message.namespace, message.runId);
      if (!known) this.putStep(step);
      else if (call.args && known.args !== call.args)
        this.putStep({ ...known, args: call.args, name: step.name, kind: step.kind, agentKey: step.agentKey });
      if (step.kind === "subagent") this.noteSubagent(call.id, step);
    }
    if (message.role !== "tool" || !message.toolCallId) return;
    const step = this.steps.find((each) => each.id === message.toolCallId);
    if (!step) return;
    this.putStep(finishStep(step, message));
    const agent = this.agents[step.id];
    if (agent) this.putAgent({ ...agent, status: message.failed ? "failed" : "done" });
  }

  private noteSubagent(callId: string, step: Step): void {
    const description = typeof step.args?.["description"] === "string" ? step.args["description"] : "";
    const known = this.agents[callId];
    if (!known) {
      this.putAgent({
        key: callId,
        namespace: null,
        name: step.name,
        description,
        toolCallId: callId,
        status: "running",
        messages: [],
      });
    } else if (step.args) this.putAgent({ ...known, name: step.name, description });
  }

  private putStep(step: Step): void {
    const at = this.steps.findLastIndex((each) => each.id === step.id);
    const next = this.fresh.has(this.steps) ? (this.steps as Step[]) : [...this.steps];
    if (at === -1) next.push(step);
    else next[at] = step;
    this.fresh.add(next);
    this.steps = next;
  }

  /** What was under way when nothing runs any more: it waits, was cancelled, or failed. */
  private endOpenSteps(): void {
    const status = this.waiting.length ? "waiting" : this.runs.at(-1)?.status === "error" ? "failed" : "cancelled";
    if (this.steps.some((step) => step.status === "running"))
      this.steps = this.steps.map((step) => endStep(step, status));
    if (Object.values(this.agents).some((agent) => agent.status === "running")) {
      this.agents = mapValues(this.agents, (agent) => (agent.status === "running" ? { ...agent, status } : agent));
    }
  }

  private agentAt(namespace: Namespace): Subagent | undefined {
    return Object.values(this.agents).find((agent) => agent.namespace === namespace);
  }

  private openAgent(namespace: Namespace, name?: unknown, callId: string | null = null): Subagent {
    const known = this.agentAt(namespace) ?? (callId ? this.agents[callId] : undefined);
    const called = typeof name === "string" && name ? name : null;
    if (known && known.namespace === namespace && !callId && known.status === "running") return known;
    const key = known?.key ?? callId ?? namespace;
    const agent: Subagent = known
      ? { ...known, namespace, status: callId ? "running" : known.status, name: known.name || (called ?? "subagent") }
      : {
          key,
          namespace,
          name: called ?? "subagent",
          description: "",
          toolCallId: callId,
          status: "running",
          messages: [],
        };
    this.putAgent(agent);
    return agent;
  }

  private putAgent(agent: Subagent): void {
    this.agents = { ...this.agents, [agent.key]: agent };
  }

  // Interrupts and runs ----------------------------------------------------------------------------------------------------------

  private openInterrupts(wires: unknown, namespace: Namespace): void {
    for (const wire of (Array.isArray(wires) ? wires : []).filter(isObject)) {
      const waiting = this.readInterrupt(wire as WireInterrupt, namespace);
      if (!waiting) continue;
      const at = this.waiting.findIndex((each) => each.id === waiting.id);
      // A subagent's interrupt comes twice, first in its own namespace: that one names the asker, and is remembered.
      if (at === -1) this.waiting = [...this.waiting, waiting];
      else this.waiting = this.waiting.with(at, waiting);
    }
  }

  private readInterrupt(wire: WireInterrupt, namespace: Namespace): Waiting | null {
    const id = wire.interrupt_id ?? wire.id;
    if (!id) return null;
    const known = this.waiting.find((each) => each.id === id);
    const where = wire.namespace ? agentPath(wire.namespace) : namespace || (known?.namespace ?? "");
    const value = wire.payload ?? wire.value;
    return {
      id,
      threadId: this.start.threadId,
      namespace: where,
      asker:
        wire.asker ??
        this.agentAt(where)?.name ??
        (known && known.namespace === where ? known.asker : (this.rest.graphId ?? "agent")),
      payload: (value ?? null) as Json,
      responseSchema: isObject(wire.response_schema) ? (wire.response_schema as JsonObject) : null,
      createdAt: wire.created_at ?? known?.createdAt ?? null,
      runId: this.currentRunId(),
    };
  }

  closeInterrupts(ids: readonly string[]): void {
    this.waiting = this.waiting.filter((each) => !ids.includes(each.id));
  }

  private currentRunId(): string | null {
    return this.activeRun()?.runId ?? null;
  }

  private setRun(runId: string, change: Partial<Run>): void {
    const at = this.runs.findIndex((run) => run.runId === runId);
    const blank: Run = {
      runId,
      status: "running",
      paused: false,
      attempt: 1,
      error: null,
      startedAt: null,
      endedAt: null,
    };
    if (at === -1) this.runs = [...this.runs, { ...blank, ...change }];
    else this.runs = this.runs.with(at, { ...this.runs[at]!, ...change });
  }
}

/** Where a new message belongs: at the end, with two exceptions that give the order of the server's own list. */
function placeOf(message: Message, list: readonly Message[]): number {
  if (message.role === "tool") return placeOfResult(message.toolCallId, list);
  // A question that is heard of late (asked in another tab) stands before the answers of its run.
  const isAsked = message.role === "user" && message.runId && !message.steered;
  const answer = isAsked ? list.findIndex((each) => each.runId === message.runId) : -1;
  return answer === -1 ? list.length : answer;
}

/** Results stand in the order of their calls, whichever was first. */
function placeOfResult(callId: string | null, list: readonly Message[]): number {
  const caller = list.findLastIndex((each) => each.toolCalls.some((call) => call.id === callId));
  if (caller === -1) return list.length;
  const order = list[caller]!.toolCalls.map((call) => call.id);
  let at = caller + 1;
  while (
    at < list.length &&
    list[at]!.role === "tool" &&
    order.indexOf(list[at]!.toolCallId ?? "") < order.indexOf(callId ?? "")
  )
    at++;
  return at;
}

/** The server's record knows better than this page, which may hear of an end again after a reload. */
function endOf(step: Step, heardAt: number): number | null {
  return step.recordNumber === undefined ? heardAt : step.endedAt;
}

/** `["tools:uuid", "model:uuid"]` -> the part that names subagents: "tools:uuid". */
function agentPath(namespace: readonly string[]): Namespace {
  return namespace.filter((part) => part.startsWith("tools:")).join("|");
}

function readTodos(value: unknown): readonly Todo[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter((each): each is Todo => isObject(each) && typeof each["content"] === "string")
    .map((each) => ({
      content: each.content,
      status: each.status === "completed" || each.status === "in_progress" ? each.status : "pending",
    }));
}

function mapValues<T>(record: Readonly<Record<string, T>>, change: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
