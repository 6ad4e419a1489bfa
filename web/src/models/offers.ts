// Which models could answer at once.

import type { ConnectedModel, Connection, Connections } from "../api/connections";

export interface Offer {
  readonly connection: Connection;
  readonly models: readonly ConnectedModel[];
}

export function isAllowed(allowed: readonly string[] | null, provider: string, model: string): boolean {
  return allowed === null || allowed.includes(`${provider}:*`) || allowed.includes(`${provider}:${model}`);
}

/** What can answer at once: no package is missing, the file is here, the operator allows it. */
export function offersOf(known: Connections): Offer[] {
  return known.connections
    .filter((connection) => !connection.problem)
    .map((connection) => ({
      connection,
      models: connection.models.filter(
        (model) =>
          model.writes && model.downloaded !== false && isAllowed(known.allowed, connection.provider, model.name),
      ),
    }))
    .filter((offer) => offer.models.length > 0);
}
