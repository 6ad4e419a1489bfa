/**
 * Opening an IndexedDB database, and saying in words what can go wrong with it.
 *
 * A tab that holds an older version gives way at once (`versionchange`), and opens again with its next transaction. One that does not
 * give way blocks the upgrade; then the person is asked to close it. Where a browser keeps nothing at all, the page works without.
 */

/** Nothing can be kept here; the message says why, and what to do. */
export class DeviceUnavailableError extends Error {
  override name = "DeviceUnavailableError";
}

/** The browser's room for this page is used up. Nothing of the transaction was kept. */
export class QuotaError extends Error {
  override name = "QuotaError";

  constructor() {
    super(
      "There is no more room for this page on your device, so nothing of this was kept. Remove files or knowledge that you no longer need, or free some disk space, and try again.",
    );
  }
}

const PRIVATE =
  "This browser keeps nothing for this page (a private window, or storage is switched off). Chat works as always; projects, knowledge and the wallet need a normal window.";
const INSECURE =
  "This page was opened over plain http from another machine, where browsers switch off what files, knowledge and the wallet need. Open it over https, or on the machine that it runs on.";
const BLOCKED =
  "Another tab of this page runs an older version and holds your files. Close or reload that tab, then try again.";
const NEWER = "A newer version of this page has already been used in this browser. Reload this tab.";
const OPENING_MS = 10_000;

export function openConnection(
  name: string,
  version: number,
  create: (database: IDBDatabase) => void,
  closed: () => void,
): Promise<IDBDatabase> {
  if (globalThis.isSecureContext === false) return Promise.reject(new DeviceUnavailableError(INSECURE));
  return new Promise((resolve, reject) => {
    // Some browsers answer neither way in a private window.
    const late = setTimeout(() => reject(new DeviceUnavailableError(PRIVATE)), OPENING_MS);
    const refuse = (error: Error) => (clearTimeout(late), reject(error));
    let request: IDBOpenDBRequest;
    try {
      request = indexedDB.open(name, version);
    } catch (error) {
      return refuse(unavailable(error));
    }
    request.onupgradeneeded = () => create(request.result);
    request.onblocked = () => refuse(new DeviceUnavailableError(BLOCKED));
    request.onerror = () => refuse(unavailable(request.error));
    request.onsuccess = () => {
      clearTimeout(late);
      const database = request.result;
      const close = () => (database.close(), closed());
      database.onversionchange = close;
      database.onclose = closed;
      resolve(database);
    };
  });
}

/** A fault of a request or a transaction as one of ours, where we have a word for it. */
export function translate(fault: DOMException | Error | null): Error {
  if (fault?.name === "QuotaExceededError") return new QuotaError();
  return fault ?? new DOMException("The transaction was aborted.", "AbortError");
}

function unavailable(fault: unknown): Error {
  const name = fault instanceof Error || fault instanceof DOMException ? fault.name : "";
  if (name === "QuotaExceededError") return new QuotaError();
  return new DeviceUnavailableError(name === "VersionError" ? NEWER : PRIVATE, { cause: fault });
}
