// Which model answers: read from what the server lists.

import type { Choice, ConnectedModel, Connections } from "../api/connections";

/** How people see a model: its title, or its name without the path of a file or a repository. */
export function titleOf(model: Pick<ConnectedModel, "name" | "title">): string {
  return model.title ?? shortName(model.name);
}

export function shortName(name: string): string {
  return name.split("/").at(-1) || name;
}

export const isSame = (one: Choice | null | undefined, other: Choice | null | undefined): boolean =>
  one?.connection === other?.connection && one?.model === other?.model;

export function findModel(known: Connections, choice: Choice | null): ConnectedModel | null {
  const connection = known.connections.find((each) => each.id === choice?.connection);
  return connection?.models.find((model) => model.name === choice?.model) ?? null;
}

/** The title of a choice, also of one whose connection no longer lists its model. */
export function nameOfChoice(known: Connections, choice: Choice): string {
  const model = findModel(known, choice);
  return model ? titleOf(model) : shortName(choice.model);
}

/** What answers in a conversation: its own choice where that can still be used, otherwise the default. Null: nothing that can write. */
export function answering(known: Connections, own: Choice | null): Choice | null {
  const isUsable = (choice: Choice) => known.connections.some((each) => each.id === choice.connection && !each.problem);
  if (own && isUsable(own)) return own;
  const usual = known.choice.default;
  return usual && findModel(known, usual)?.writes !== false ? usual : null;
}

/** A thread's metadata `stepwell_models`: another client may have written anything there. */
export function readChoice(value: unknown): Choice | null {
  const usual = (value as { default?: unknown } | null | undefined)?.default;
  const { connection, model } = (usual ?? {}) as Partial<Choice>;
  return typeof connection === "string" && typeof model === "string" ? { connection, model } : null;
}
