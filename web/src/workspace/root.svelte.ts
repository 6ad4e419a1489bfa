// Which workspace is meant. A thread that has worked is tied to one, which its state names; before that, whoever has several chooses, and the
// choice goes along with the first message. Whoever has one, or works on a server where nobody is asked, need not say.

import { keep, kept } from "../lib/kept";
import { provideContext } from "../state/message-context";
import { server } from "../state/server.svelte";
import type { ThreadView } from "../state/types";

export const WORKSPACE = "workspace";

class Roots {
  private wanted = $state(kept("workspace.root") ?? "");

  get all(): string[] {
    return [...(server.me?.roots ?? []), ...(server.me?.read_roots ?? [])];
  }
  /** Empty: the server knows which one is meant. */
  get chosen(): string {
    const { all } = this;
    return all.length > 1 ? (all.includes(this.wanted) ? this.wanted : all[0]!) : "";
  }
  choose(root: string): void {
    this.wanted = root;
    keep("workspace.root", root);
  }
  of(view: ThreadView): string {
    const tied = view.values["gcs_root_path"];
    return typeof tied === "string" && tied ? tied : this.chosen;
  }
  /** Whether files may only be read there. */
  readsOnly(root: string): boolean {
    const within = (grants: readonly string[] | undefined) =>
      (grants ?? []).some((each) => (root || this.all[0] || "").startsWith(each));
    return within(server.me?.read_roots) && !within(server.me?.roots);
  }
}

export const roots = new Roots();

provideContext(async ({ graphId }) =>
  graphId === WORKSPACE && roots.chosen ? { configurable: { gcs_root_path: roots.chosen } } : null,
);
