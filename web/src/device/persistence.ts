// Whether the browser may clear what this page keeps when the disk is full, and how much room there is.

/** Asked when the first thing worth keeping is kept. Some browsers ask the person, some decide by themselves. True: it stays until erased. */
export async function askToKeep(): Promise<boolean> {
  if (!navigator.storage?.persist) return false;
  try {
    return (await navigator.storage.persisted()) || (await navigator.storage.persist());
  } catch {
    return false; // A browser that refuses to be asked promises nothing.
  }
}

export interface Room {
  readonly used: number;
  readonly quota: number;
  readonly persisted: boolean;
}

/** Null where the browser does not say. */
export async function measureRoom(): Promise<Room | null> {
  if (!navigator.storage?.estimate) return null;
  const [{ usage = 0, quota = 0 }, persisted] = await Promise.all([
    navigator.storage.estimate(),
    navigator.storage.persisted?.() ?? false,
  ]);
  return { used: usage, quota, persisted };
}
