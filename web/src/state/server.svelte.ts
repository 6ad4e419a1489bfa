// The server as a whole: does it answer, who are we, which assistants are there.
//
//   online --a request fails or a stream is cut--> reconnecting --10 s--> offline
//      ^------------------ /ok answers, asked every 3 s -------------------|

import { api, comeBackNow, onAnswered, type AssistantResponse, type Me } from "../api";
import type { JsonObject } from "../lib/json";
import { DEVICE_OF, forgetPerson, keepNothingMore } from "../lib/kept";
import type { Assistant, Connection } from "./types";

const ASK_AGAIN_MS = 3_000;
const OFFLINE_AFTER_MS = 10_000;

class Server {
  connection = $state<Connection>("online");
  me = $state.raw<Me | null>(null);
  assistants = $state.raw<Assistant[]>([]);
  /** Graph -> what it lacks to be run here, in a sentence. Those that are ready are not in it. */
  lacks = $state.raw<Readonly<Record<string, string>>>({});
  /** Graph -> what its runs may be held to (`chat/RunMode`). */
  runModes = $state.raw<Readonly<Record<string, readonly string[]>>>({});
  /** Graphs whose turns can be taken back (`chat/GoBack`). */
  rewinds = $state.raw<readonly string[]>([]);
  ready = $state(false);
  problem = $state.raw<unknown>(null);
  private cutAt = 0;
  private lastOwner: string | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  watch(): void {
    onAnswered((outcome) => {
      if (!outcome.answered) return this.cut();
      // A 5xx may come from a proxy whose server is gone: it proves nothing.
      if (outcome.status < 500) this.answered();
      if (outcome.status === 401 && this.me?.signed_in) void this.loadMe();
    });
    window.addEventListener("offline", () => this.cut());
    window.addEventListener("online", () => void this.ask());
    // Somebody else has signed in in another tab: this one talks to the server as them from now on, and must not keep what it knows.
    window.addEventListener("storage", ({ key, newValue }) => {
      if (key === null) return (keepNothingMore(), location.reload()); // Everything was erased there.
      if (key !== DEVICE_OF || !this.me?.asks_who || newValue === this.owner) return;
      if (newValue === null) forgetPerson(this.owner); // They signed out there.
      location.reload();
    });
  }

  /** Who is signed in. Null where the server asks nobody. */
  get owner(): string | null {
    return this.me?.asks_who && this.me.signed_in ? (this.me.user ?? null) : null;
  }

  async load(): Promise<void> {
    this.problem = null;
    try {
      await this.loadMe();
      if (this.me?.asks_who && !this.me.signed_in) return;
      this.assistants = (await api.searchAssistants()).map(readAssistant).sort(byPlace);
    } catch (error) {
      this.problem = error;
    } finally {
      this.ready = true;
    }
  }

  /** Which graphs can be run. Until that is known all count as ready: a run says it too. */
  async lookAtGraphs(): Promise<void> {
    const graphs = await api.graphs().catch(() => null);
    if (!graphs) return;
    this.rewinds = graphs.flatMap((each) => (each.can_rewind ? [each.graph_id] : []));
    this.runModes = Object.fromEntries(graphs.map((each) => [each.graph_id, each.run_modes]));
    this.lacks = Object.fromEntries(graphs.flatMap((each) => (each.problem ? [[each.graph_id, each.problem]] : [])));
  }

  private async loadMe(): Promise<void> {
    this.me = await api.me();
    // What the page holds in memory is the other person's: begin anew.
    if (this.owner && this.lastOwner && this.owner !== this.lastOwner) location.reload();
    this.lastOwner = this.owner ?? this.lastOwner;
  }

  get signedOut(): boolean {
    return this.me !== null && this.me.asks_who && !this.me.signed_in;
  }

  cut(): void {
    if (this.connection === "online") {
      this.cutAt = Date.now();
      this.connection = navigator.onLine ? "reconnecting" : "offline";
      this.askLater();
    }
  }

  answered(): void {
    if (this.connection === "online") return;
    clearTimeout(this.timer);
    this.connection = "online";
    comeBackNow();
  }

  private askLater(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), ASK_AGAIN_MS);
  }

  async ask(): Promise<void> {
    if (this.connection === "online") return;
    try {
      await api.ok();
    } catch {
      // `answered` was told by the request itself; here only the wait goes on.
      if (Date.now() - this.cutAt > OFFLINE_AFTER_MS) this.connection = "offline";
      this.askLater();
    }
  }
}

export const server = new Server();

function readAssistant(wire: AssistantResponse): Assistant {
  const graphId = wire.graph_id ?? "";
  const own = wire.name && wire.name !== graphId ? wire.name : null;
  return {
    assistantId: wire.assistant_id ?? graphId,
    graphId,
    name: own ?? nameOf(graphId),
    description: wire.description ?? "",
    demo: wire.metadata?.["demo"] === true,
    metadata: (wire.metadata ?? {}) as JsonObject,
  };
}

const NAMES: Record<string, string> = {
  research: "Research",
  deep_research: "Deep research",
  simple_agent: "Agent",
  research_demo: "Research demo",
  demo_agent: "Agent demo",
  deeptutor: "Tutor",
  seminar_agent: "Tutor, under its older name",
  workspace: "Workspace",
};
const ORDER = ["research", "simple_agent", "deeptutor", "workspace", "deep_research"];

export function nameOf(graphId: string | null): string {
  if (!graphId) return "Agent";
  const words = graphId.replaceAll("_", " ");
  return NAMES[graphId] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

function byPlace(one: Assistant, other: Assistant): number {
  const place = (each: Assistant) =>
    (each.demo ? 100 : 0) + (ORDER.includes(each.graphId) ? ORDER.indexOf(each.graphId) : 50);
  return place(one) - place(other) || one.name.localeCompare(other.name);
}
