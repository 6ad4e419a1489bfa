// What can be done here with the model that answers, or without one. Whoever learns of a model says it here (`learn`); the first screen,
// the list of assistants and the composer look here.

import { server } from "./server.svelte";

export interface AnsweringModel {
  readonly name: string;
  /** What it writes can be shown to a person. */
  readonly writes: boolean;
  /** It takes images. Null: not known. */
  readonly sees: boolean | null;
  /** It runs on the server's own machine. Null: not known. */
  readonly isLocal: boolean | null;
}

/** Graphs that answer with the embedded model where none is connected: it is too small to be of use. */
const IN_NEED = new Set(["simple_agent"]);
/** Graphs that read only words, whatever their model sees. */
const READING = new Set(["research", "research_demo", "demo_agent"]);

class Able {
  /** Undefined until it is known; null: none. */
  model = $state.raw<AnsweringModel | null | undefined>(undefined);
  /** Models of this computer that could be connected, in words: "Ollama with llama3.1:8b". */
  found = $state("");

  learn(model: AnsweringModel | null, found = ""): void {
    this.model = model;
    this.found = found;
  }

  /** Null until it is known. */
  get hasModel(): boolean | null {
    return this.model === undefined ? null : Boolean(this.model?.writes);
  }

  /** It needs a model, and none is connected. */
  isOff(graphId: string): boolean {
    return this.hasModel === false && (graphId in server.lacks || IN_NEED.has(graphId));
  }

  /** The model that looks at the images of a message. Null: nobody does, the graph reads only words. */
  viewerFor(graphId: string | null): { name: string; sees: boolean | null } | null {
    if (graphId !== null && READING.has(graphId)) return null;
    return { name: this.model?.name || "This model", sees: this.model?.sees ?? null };
  }
}

export const able = new Able();
