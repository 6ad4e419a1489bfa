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

/** A message that somebody is about to send. Without a thread yet, if it is the first. */
export interface Intent {
  readonly graphId: string;
  readonly threadId: string | null;
  readonly text: string;
}

/** False: not now. The person has been told why, and the message stays where it was written. */
export type Condition = (intent: Intent) => Promise<boolean>;

export type Companion = (asking: Asking) => Promise<Along | null>;

const companions = new Set<Companion>();
const conditions = new Set<Condition>();

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

/** From now on, a message leaves the composer only if this says so. Gives the way back. */
export function holdBack(condition: Condition): () => void {
  conditions.add(condition);
  return () => void conditions.delete(condition);
}

/** Whether a message may go; asked before the composer lets go of it. */
export async function maySend(intent: Intent): Promise<boolean> {
  for (const condition of conditions) if (!(await condition(intent))) return false;
  return true;
}
