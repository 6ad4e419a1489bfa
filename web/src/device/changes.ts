/**
 * What changed on this device, told to every tab and worker of this page: `announceChange("files")`.
 *
 * A topic is a word or two that both sides know ("projects", "files", "outbox", "departures", "documents", "purse"). It carries no
 * content: whoever hears it reads again.
 */

const CHANNEL = "stepwell.device";
const listeners = new Map<string, Set<() => void>>();
let channel: BroadcastChannel | null = null;

/** After the transaction that changed it, so that a reader finds it. This tab hears it too. */
export function announceChange(topic: string): void {
  tell(topic);
  connect()?.postMessage(topic);
}

/** Gives the way back. */
export function onChange(topic: string, listener: () => void): () => void {
  connect();
  const known = listeners.get(topic) ?? new Set();
  listeners.set(topic, known.add(listener));
  return () => void known.delete(listener);
}

function connect(): BroadcastChannel | null {
  if (channel || typeof BroadcastChannel === "undefined") return channel;
  channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = (event: MessageEvent<unknown>) => tell(String(event.data));
  (channel as { unref?: () => void }).unref?.(); // Node would stay alive for it.
  return channel;
}

function tell(topic: string): void {
  for (const listener of [...(listeners.get(topic) ?? [])]) listener();
}
