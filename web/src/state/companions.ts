// What goes along with a message. Parts of the page that keep something for an agent (a project, knowledge, a purse) say here what of it a
// message takes with it, so that a session need not know them.

export interface Asking {
  readonly graphId: string;
  readonly threadId: string;
  readonly text: string;
}

export interface Along {
  /** Fields of the run's input, beside its messages. */
  readonly input?: Record<string, unknown>;
  readonly configurable?: Record<string, unknown>;
}

export type Companion = (asking: Asking) => Promise<Along | null>;

const companions = new Set<Companion>();

/** From now on. Gives the way back. */
export function accompany(companion: Companion): () => void {
  companions.add(companion);
  return () => void companions.delete(companion);
}

/** What all of them send along. One that fails keeps the message from being sent: the person is told, and the draft is kept. */
export async function whatGoesAlong(asking: Asking): Promise<Required<Along>> {
  const found = await Promise.all([...companions].map((companion) => companion(asking)));
  const merged = { input: {}, configurable: {} };
  for (const along of found) {
    Object.assign(merged.input, along?.input);
    Object.assign(merged.configurable, along?.configurable);
  }
  return merged;
}
