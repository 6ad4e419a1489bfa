// What the parts of a session share: the thread, its view, and the one way to change that.

import type { Action } from "../reduce";
import type { ThreadView } from "../types";

export interface Thread {
  readonly threadId: string;
  /** As it is now. */
  readonly view: ThreadView;
  /** How much its runs may change, if somebody chose that. */
  readonly mode: unknown;
  dispatch(action: Action): void;
  /** Aborted when the person leaves the thread. */
  readonly closed: AbortSignal;
}
