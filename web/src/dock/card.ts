// What every card of the dock is given. `cards.ts` has all of them.

import type { Component } from "svelte";
import type { Json } from "../lib/json";

export interface CardProps<Draft> {
  /** The interrupt's. */
  id: string;
  /** When it was asked. */
  createdAt: string | null;
  payload: Json;
  /** The subagent that asks, or the graph. */
  asker: string;
  threadId: string | null;
  draft: Draft;
  busy: boolean;
  /** Scratch files of the thread, by path. */
  files: Record<string, string>;
  onanswer: (answer: Json) => void;
}

export interface Card {
  // A registry of components with different drafts: each card and its `restore` belong together, which the type system cannot say here.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  component: Component<CardProps<any>, object, "" | "draft">;
  restore: (payload: Json, kept: unknown) => unknown;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  keep: (payload: Json, draft: any) => unknown;
}
