// What the browser keeps for this page: theme, drafts, small choices. Storage may be forbidden or full; then nothing is kept, and nothing breaks.

const PREFIX = "stepwell.";

/** Where the account of the last visit stands. Other tabs hear when it changes. */
export const DEVICE_OF = `${PREFIX}device-of`;

/** The run mode of the next conversation. */
export const NEXT_MODE = "mode.new";

/** A message that somebody began: each account has its own. */
export function draftName(key: string, owner: string | null): string {
  return owner ? `draft.${key}@${owner}` : `draft.${key}`;
}

/** Choices about the device rather than about a person. */
const OF_THE_DEVICE = ["theme", "text", "width", "motion"];

/**
 * The person signed out: what they began to write and chose goes, also from this tab's session, and this page keeps nothing more. The
 * page's appearance stays, and so do the drafts of other accounts. Other tabs hear of it by `DEVICE_OF`, which goes last.
 */
export function forgetPerson(owner: string | null): void {
  isErased = true;
  try {
    sessionStorage.clear();
    const staying = (name: string) =>
      OF_THE_DEVICE.includes(name) || (/^draft\..*@/.test(name) && !name.endsWith(`@${owner}`));
    for (const key of Object.keys(localStorage))
      if (key.startsWith(PREFIX) && key !== DEVICE_OF && !staying(key.slice(PREFIX.length)))
        localStorage.removeItem(key);
    localStorage.removeItem(DEVICE_OF);
  } catch (error) {
    console.warn("The browser keeps nothing for this page:", error);
  }
}

let isErased = false;

/** Everything was erased, here or in another tab: what this page still holds, such as a message in the making, is not kept again. */
export function keepNothingMore(): void {
  isErased = true;
}

export function isEverythingErased(): boolean {
  return isErased;
}

export function keep(name: string, value: string | null): void {
  if (isErased) return;
  try {
    if (value === null || value === "") localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch (error) {
    console.warn("The browser keeps nothing for this page:", error);
  }
}

/** The same for this tab alone, until it is closed. */
export function keepForTab(name: string, value: string): void {
  try {
    if (!isErased) sessionStorage.setItem(PREFIX + name, value);
  } catch (error) {
    console.warn("The browser keeps nothing for this page:", error);
  }
}

export function keptForTab(name: string): string | null {
  try {
    return sessionStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Tells what another tab keeps under this name from now on; null: nothing any more. Gives the way back. */
export function whenKeptElsewhere(name: string, tell: (value: string | null) => void): () => void {
  const heard = ({ key, newValue }: StorageEvent) => key === PREFIX + name && tell(newValue);
  window.addEventListener("storage", heard);
  return () => window.removeEventListener("storage", heard);
}

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}
