/** What is known of the models, shared by the pill, the card and the first screen. */

import { Loaded } from "../panels/loaded.svelte";
import { fetchModels, loadModel, type LoadEvent, type Models } from "./models";

class CurrentModels {
  readonly known = new Loaded<Models>(fetchModels);
  /** Loads under way or failed, by model id. */
  loads = $state<Record<string, LoadEvent>>({});
  private asked = false;

  /** Fetch once; later calls only with `again`. */
  refresh(again = false): void {
    if (this.asked && !again) return;
    this.asked = true;
    void this.known.load();
  }

  get busy(): boolean {
    return Object.values(this.loads).some((event) => event.status === "downloading" || event.status === "loading");
  }

  /** The server loads once however many ask, and goes on when the page leaves. */
  async load(id: string): Promise<void> {
    this.loads[id] = { status: "loading", progress: null, file: null, modelId: id };
    try {
      await loadModel(id, (event) => (this.loads[id] = { ...event, modelId: id }), new AbortController().signal);
      delete this.loads[id];
      await this.known.load();
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

export const models = new CurrentModels();
