/**
 * What agents ask of this device (`client_tool_execution`), carried out here: for the open thread and for all others of the person.
 *
 *   approval, where the project wants one (the dock asks) ─> lock, so that only one tab does it ─> was it done before? then send that
 *   ─> claim on the server, so that no other device does it ─> deed and outbox row in one transaction (`execution.ts`) ─> sent
 *
 * Reads need no approval. A change needs one as long as the project's switch says so, whatever the question says: the files are the
 * person's. Whether an agent may keep its own notes (`notes.ts`) is asked once, and the answer stays with the project. What does not work out is told in the dock (`states`), and tried again where time can help.
 */

import { untrack } from "svelte";
import { asObject, textOf, type Json } from "../lib/json";
import { kindOf } from "../state/waiting";
import type { Receipt } from "../state/receipts";
import { embedder } from "../embedding/embedder";
import { server } from "../state/server.svelte";
import { claim, deviceName, GoneError, HeldError } from "./claims";
import { announceChange, onChange, openDevice, type Device, type OutboxRow, type Project } from "./database";
import { questionOf } from "./execution";
import { WorkerHost } from "./host";
import type { Call } from "./calls";
import { callsIn, notesIn } from "./notes";
import { CHANGING } from "./operations";
import { deliver, findDone, unsentRows } from "./outbox";
import type { Preview } from "./preview";
import { changeProject, currentProject, listProjects } from "./projects";

/** One open interrupt, from whichever list. */
export interface Asked {
  readonly id: string;
  readonly threadId: string;
  readonly assistantId: string;
  readonly payload: Json;
  /** The device that is at it, where the list says so. */
  readonly claim?: { readonly device_id: string; readonly expires_at: string } | null;
}

export type Decision = { readonly approved: true } | { readonly approved: false; readonly reason: string };

export interface Progress {
  readonly state: "working" | "held" | "unsent" | "failed";
  readonly words: string;
}

export interface Note extends Receipt {
  readonly threadId: string;
}

const FLUSH_MS = 3_000;
const NOTE_MS = 20_000;
const LOCK = "stepwell.interrupt.";

export class Executor {
  /** By interrupt. */
  states = $state<Record<string, Progress>>({});
  projects = $state.raw<readonly Project[] | null>(null);
  current = $state.raw<Project | null>(null);
  /** What was done lately, newest last. */
  notes = $state.raw<readonly Note[]>([]);
  private asked: readonly Asked[] = [];
  private readonly busy = new Set<string>();
  private readonly notBefore = new Map<string, number>();
  private flushing = false;
  private name = "";
  private readonly stopped = new AbortController();

  constructor(
    readonly device: Device,
    private readonly host: WorkerHost,
  ) {}

  async start(): Promise<void> {
    const { signal } = this.stopped;
    const timer = setInterval(() => void this.flush(), FLUSH_MS);
    const deaf = onChange("projects", () => void this.loadProjects());
    addEventListener("online", () => void this.flush(), { signal });
    signal.addEventListener("abort", () => (clearInterval(timer), deaf()));
    this.name = await deviceName(this.device);
    await this.flush();
    await this.loadProjects();
  }

  /** Somebody else has signed in: their things are in another database. */
  stop(): void {
    this.stopped.abort();
    this.host.close();
  }

  async loadProjects(): Promise<void> {
    [this.projects, this.current] = await Promise.all([listProjects(), currentProject()]);
    this.carryOutAll();
  }

  /** Everything that is open now, over all threads. */
  consider(asked: readonly Asked[]): void {
    this.asked = asked.filter((each) => kindOf(each.payload) === "device");
    this.carryOutAll();
  }

  projectFor(payload: Json): Project | null {
    const id = textOf(asObject(payload).project_id);
    if (!id) return this.current;
    return this.projects?.find((project) => project.id === id) ?? null;
  }

  /** Whether somebody has to decide something; else it is done by itself. */
  asksPerson(id: string, payload: Json): boolean {
    if (!this.projects) return false;
    const project = this.projectFor(payload);
    if (!project || !decisionFor(project, payload)) return true;
    return this.states[id]?.state === "failed";
  }

  async preview(payload: Json): Promise<Preview[]> {
    const project = this.projectFor(payload);
    return project ? this.host.preview(project.id, callsIn(payload)) : [];
  }

  private carryOutAll(): void {
    if (this.stopped.signal.aborted) return;
    untrack(() => {
      for (const each of this.asked) {
        const project = this.projectFor(each.payload);
        const decision = project && decisionFor(project, each.payload);
        if (decision && !this.mustWait(each)) void this.carryOut(each, decision, true);
      }
    });
  }

  private mustWait({ id, claim: held }: Asked): boolean {
    const elsewhere = held && held.device_id !== this.name ? Date.parse(held.expires_at) : 0;
    return Math.max(this.notBefore.get(id) ?? 0, elsewhere) > Date.now();
  }

  /** Resolves when it is done and the server has it, or will have it; rejects with a sentence. */
  async carryOut(asked: Asked, decision: Decision, automatic = false): Promise<void> {
    if (this.busy.has(asked.id)) return;
    this.busy.add(asked.id);
    if (!automatic) this.states[asked.id] = { state: "working", words: "" };
    try {
      if (!automatic) await this.remember(asked.payload, decision);
      await navigator.locks.request(LOCK + asked.id, { ifAvailable: automatic }, (lock) =>
        lock ? this.doOnce(asked, decision) : undefined,
      );
    } catch (error) {
      this.tellFault(asked, error, automatic);
      if (!automatic && !(error instanceof GoneError)) throw error;
    } finally {
      this.busy.delete(asked.id);
    }
  }

  private async remember(payload: Json, decision: Decision): Promise<void> {
    const project = this.projectFor(payload);
    if (project && notesIn(payload)) await changeProject(project.id, { keeps_notes: decision.approved === true });
  }

  private async doOnce(asked: Asked, decision: Decision): Promise<void> {
    const calls = callsIn(asked.payload);
    const done = await findDone(this.device, asked.id, questionOf(calls));
    if (done?.fresh) return;
    const row = done ? done.row : await this.execute(asked, calls, decision);
    await this.send(row);
  }

  private async execute(asked: Asked, calls: readonly Call[], decision: Decision): Promise<OutboxRow> {
    const project = this.projectFor(asked.payload);
    const claim_id = await claim(this.device, asked.threadId, asked.id);
    const readable = project ? calls.filter((call) => !CHANGING.has(call.name)) : [];
    const reads = [];
    for (const call of readable) reads.push(await this.host.read(project!.id, call));
    // It comes from outside as JSON, whatever its type says: all that is not a plain yes is a no.
    const refusal = decision.approved === true ? {} : { refusal: decision.reason ?? "" };
    const to = assistantOf(asked.assistantId)?.name ?? asked.assistantId;
    const commission = {
      interrupt_id: asked.id,
      thread_id: asked.threadId,
      assistant_id: asked.assistantId,
      to,
      claim_id,
      calls,
      reads,
      ...refusal,
    };
    const row = await this.host.carryOut(project?.id ?? "", commission);
    for (const topic of ["outbox", "departures", ...(changes(asked.payload) ? ["files"] : [])]) announceChange(topic);
    return row;
  }

  private async send(row: OutboxRow): Promise<void> {
    const graphId = assistantOf(row.assistant_id)?.graphId ?? row.assistant_id;
    const delivery = await deliver(this.device, row, graphId);
    if (delivery.state === "unsent") {
      this.states[row.interrupt_id] = { state: "unsent", words: delivery.words };
      this.notBefore.set(row.interrupt_id, delivery.again);
      return this.tell(row.interrupt_id, row.thread_id, delivery.words, true);
    }
    delete this.states[row.interrupt_id];
    const failed = delivery.state === "dropped" || hasErrors(row);
    this.tell(row.interrupt_id, row.thread_id, delivery.state === "delivered" ? row.words : delivery.words, failed);
  }

  /** What other tabs or an earlier visit have left behind goes first. */
  async flush(): Promise<void> {
    if (this.flushing || this.stopped.signal.aborted || server.connection !== "online") return;
    this.flushing = true;
    try {
      for (const row of await unsentRows(this.device)) {
        if ((this.notBefore.get(row.interrupt_id) ?? 0) > Date.now()) continue;
        await navigator.locks.request(LOCK + row.interrupt_id, { ifAvailable: true }, async (lock) => {
          const still = lock && (await findDone(this.device, row.interrupt_id, row.question));
          if (still && !still.row.delivered_at) await this.send(still.row);
        });
      }
      this.carryOutAll();
    } catch (error) {
      console.warn("What waits in the outbox could not be sent now:", error);
    } finally {
      this.flushing = false;
    }
  }

  private tellFault(asked: Asked, error: unknown, automatic: boolean): void {
    if (error instanceof GoneError) {
      delete this.states[asked.id];
      this.notBefore.set(asked.id, Number.POSITIVE_INFINITY);
      return this.tell(asked.id, asked.threadId, "Nothing was done here: it is not asked any more.", true);
    }
    const said = error instanceof Error ? error.message : String(error);
    const words = automatic ? said : ""; // To somebody who has just decided, the dock says it.
    if (error instanceof HeldError) {
      this.states[asked.id] = { state: "held", words };
      this.notBefore.set(asked.id, error.until || Date.now() + FLUSH_MS);
      if (automatic) this.tell(asked.id, asked.threadId, words, true);
    } else {
      this.states[asked.id] = { state: "failed", words };
      this.notBefore.set(asked.id, Date.now() + FLUSH_MS);
    }
  }

  private tell(id: string, threadId: string, words: string, failed: boolean): void {
    if (!words) return;
    const since = Date.now() - NOTE_MS;
    const note = { id, threadId, words, failed, at: new Date() };
    this.notes = [...this.notes.filter((each) => each.at.getTime() > since && each.id !== id), note];
    setTimeout(() => (this.notes = this.notes.filter((each) => each !== note)), NOTE_MS);
  }
}

function assistantOf(id: string) {
  return server.assistants.find((each) => each.assistantId === id || each.graphId === id);
}

function hasErrors(row: OutboxRow): boolean {
  return row.answer.tool_results.some((result) => "error" in (result as object));
}

function changes(payload: Json): boolean {
  return callsIn(payload).some((call) => CHANGING.has(call.name));
}

/** What is done without a question; null: the person decides. */
function decisionFor(project: Project, payload: Json): Decision | null {
  if (!changes(payload) || !project.write_approval) return { approved: true };
  if (!notesIn(payload) || project.keeps_notes === undefined) return null;
  return project.keeps_notes ? { approved: true } : { approved: false, reason: "" };
}

export async function startExecutor(): Promise<Executor> {
  const device = await openDevice();
  const executor = new Executor(device, new WorkerHost(device.name, embedder));
  await executor.start();
  return executor;
}
