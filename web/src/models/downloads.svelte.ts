/** Embedded models that the server downloads and loads, for as long as the page is open. */

import { loadModel, type LoadEvent } from "./models";

class Downloads {
  /** Under way or failed, by model id. */
  loads = $state<Record<string, LoadEvent>>({});

  get busy(): boolean {
    return Object.values(this.loads).some((event) => event.status === "downloading" || event.status === "loading");
  }

  /** The server loads once however many ask, and goes on when the page leaves. */
  async load(id: string): Promise<void> {
    this.loads[id] = { status: "loading", progress: null, file: null, modelId: id };
    try {
      await loadModel(id, (event) => (this.loads[id] = { ...event, modelId: id }), new AbortController().signal);
      delete this.loads[id];
    } catch (error) {
      this.loads[id] = {
        status: "error",
        progress: null,
        file: null,
        modelId: id,
        message: error instanceof Error ? error.message : String(error),
      };
    }
  }
}

export const downloads = new Downloads();
