// What is connected, and what answers in the conversation that is open. Shared by the header, the first screen and Settings.

import { ApiError, api, request } from "../api";
import { keep, kept } from "../lib/kept";
import { Loaded } from "../lib/loaded.svelte";
import type { Choice, Connections } from "../api/connections";
import { able } from "../state/able.svelte";
import { server } from "../state/server.svelte";
import type { ThreadSession } from "../state/session.svelte";
import { answering, findModel, nameOfChoice, readChoice } from "./choices";

async function fetchKnown(): Promise<Connections> {
  try {
    return await request<Connections>("/api/connections");
  } catch (error) {
    // Nobody knows: nothing is hidden then, and a run says what it lacks.
    able.learn({ name: "", writes: true, sees: null, isLocal: null });
    throw error;
  }
}

/** The choice for a conversation that has not begun. */
const NEXT = "next-model";

class Connected {
  readonly known = new Loaded<Connections>(fetchKnown);
  /** The conversation that is open. Null: the next one. */
  session = $state.raw<ThreadSession | null>(null);
  /** For the conversation that begins next, as it will stand in the thread's metadata. */
  next = $state.raw<{ default: Choice } | null>(readNext());
  private asked = false;

  /** Fetch once; later calls only with `again`. */
  refresh(again = false): Promise<void> {
    if (this.asked && !again) return Promise.resolve();
    this.asked = true;
    return this.known.load();
  }

  /** A server from before connected models. */
  get isMissing(): boolean {
    return this.known.error instanceof ApiError && this.known.error.status === 404;
  }

  /** The conversation's own choice; null: it goes with the default. */
  get own(): Choice | null {
    return readChoice(this.session ? this.session.models : this.next);
  }

  /** What answers here. Null: nothing that can write, or not known yet. */
  get current(): Choice | null {
    return this.known.value && answering(this.known.value, this.own);
  }

  get name(): string {
    const [known, current] = [this.known.value, this.current];
    return known && current ? nameOfChoice(known, current) : "";
  }

  /** Tell the rest of the page what answers here. */
  teach(): void {
    const [known, current] = [this.known.value, this.current];
    if (!known) return;
    const model = findModel(known, current);
    const connection = known.connections.find((each) => each.id === current?.connection);
    able.learn(
      current && {
        name: this.name,
        writes: model?.writes ?? true,
        sees: model?.sees ?? null,
        isLocal: connection ? connection.source === "found" || connection.source === "embedded" : null,
      },
      known.found.map((each) => `${each.title} with ${each.models[0]?.name ?? "no model yet"}`).join(", "),
    );
  }

  /** Another model for this conversation; null: the default again. */
  async choose(choice: Choice | null): Promise<void> {
    const { session } = this;
    const models = choice && { default: choice };
    if (!session) {
      this.next = models;
      keep(NEXT, models && JSON.stringify(models));
      return;
    }
    const before = session.models;
    session.models = models;
    try {
      await api.patchThread(session.threadId, { stepwell_models: models });
    } catch (error) {
      session.models = before;
      throw error;
    }
  }

  /** That conversation has begun, and has it. */
  forgetNext(): void {
    this.next = null;
    keep(NEXT, null);
  }

  /** After a model was connected, chosen or removed: what could not run before may run now. */
  async changed(): Promise<void> {
    void server.lookAtGraphs();
    await this.known.load();
  }
}

function readNext(): { default: Choice } | null {
  try {
    const choice = readChoice(JSON.parse(kept(NEXT) ?? "null"));
    return choice && { default: choice };
  } catch {
    return null;
  }
}

export const connected = new Connected();
