// The context that is sent with a message. Parts of the page that keep something for an agent (a project, knowledge, a purse) provide it
// here, so that a session need not know them; and they may set conditions on which a message leaves the composer.

/** A message on its way into a run. */
export interface OutgoingMessage {
  readonly graphId: string;
  readonly threadId: string;
  readonly text: string;
}

export interface MessageContext {
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
export type SendCondition = (intent: Intent) => Promise<boolean>;

export type ContextProvider = (message: OutgoingMessage) => Promise<MessageContext | null>;

const providers = new Set<ContextProvider>();
const conditions = new Set<SendCondition>();

/** From now on. Gives the way back. */
export function provideContext(provider: ContextProvider): () => void {
  providers.add(provider);
  return () => void providers.delete(provider);
}

/** What all of them provide. One that fails keeps the message from being sent: the person is told, and the draft is kept. */
export async function gatherContext(message: OutgoingMessage): Promise<Required<MessageContext>> {
  const found = await Promise.all([...providers].map((provider) => provider(message)));
  const merged = { input: {}, configurable: {} };
  for (const context of found) {
    Object.assign(merged.input, context?.input);
    Object.assign(merged.configurable, context?.configurable);
  }
  return merged;
}

/** From now on, a message leaves the composer only if this says so. Gives the way back. */
export function addSendCondition(condition: SendCondition): () => void {
  conditions.add(condition);
  return () => void conditions.delete(condition);
}

/** Whether a message may go; asked before the composer lets go of it. */
export async function maySend(intent: Intent): Promise<boolean> {
  for (const condition of conditions) if (!(await condition(intent))) return false;
  return true;
}
