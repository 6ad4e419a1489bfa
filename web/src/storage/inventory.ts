// Everything that this page keeps in this browser, found by looking: databases, caches, storages. What is not known by name is listed too,
// so that the list is complete whatever a later version keeps.

import { announceChange, openDevice, type StoreName } from "../device/database";
import { keepNothingMore } from "../lib/kept";
import { closeWorker, order } from "../project/worker-client";
import { server } from "../state/server.svelte";

export type GroupId = "projects" | "versions" | "knowledge" | "departures" | "outbox" | "purse" | "settings";

export interface Group {
  readonly id: GroupId;
  readonly label: string;
  /** What it is, in a sentence. */
  readonly what: string;
  readonly stores: readonly StoreName[];
  /** The store whose rows are counted: a file has a row in several. */
  readonly counted: StoreName;
  /** What is counted. */
  readonly unit: string;
  /** What is lost with it, where that is more than what it says. */
  readonly loss?: string;
}

export const GROUPS: readonly Group[] = [
  {
    id: "projects",
    unit: "file",
    label: "Project files",
    what: "Your projects, the files in them, and the numbers by which they are searched.",
    stores: ["projects", "files", "contents", "file_vectors"],
    counted: "files",
  },
  {
    id: "versions",
    unit: "version",
    label: "Earlier versions",
    what: "What your files were before each change.",
    stores: ["versions"],
    counted: "versions",
    loss: "Changes can then no longer be undone.",
  },
  {
    id: "knowledge",
    unit: "document",
    label: "Knowledge",
    what: "Your documents, cut into passages, and the numbers by which they are searched.",
    stores: ["documents", "chunks", "vectors"],
    counted: "documents",
  },
  {
    id: "departures",
    unit: "piece",
    label: "What left this device",
    what: "A record of each piece that went to the server.",
    stores: ["departures"],
    counted: "departures",
  },
  {
    id: "outbox",
    unit: "answer",
    label: "Answers on their way",
    what: "Results for an agent that the server does not have yet.",
    stores: ["outbox"],
    counted: "outbox",
    loss: "An agent that waits for them is then not answered, though the work may be done.",
  },
  {
    id: "purse",
    unit: "entry",
    label: "Wallet",
    what: "Payments under way and refunds that you have not claimed.",
    stores: ["purse"],
    counted: "purse",
    loss: "Money in it that you have not claimed is lost.",
  },
  {
    id: "settings",
    unit: "choice",
    label: "Choices",
    what: "Such as the project that agents may work on.",
    stores: ["settings"],
    counted: "settings",
  },
];

export interface Kept {
  readonly id: string;
  readonly kind: "group" | "database" | "cache" | "local" | "session";
  readonly label: string;
  readonly what: string;
  readonly loss?: string;
  readonly unit?: string;
  readonly rows: number;
  /** Null: the browser does not say. */
  readonly bytes: number | null;
}

/** In the order of the list. Where a browser keeps nothing, what it does keep is still listed. */
export async function takeInventory(): Promise<{ kept: Kept[]; problem: Error | null }> {
  let problem: Error | null = null;
  let mine: { name: string; kept: Kept[] } = { name: "", kept: [] };
  try {
    mine = await lookIntoDatabase();
  } catch (error) {
    problem = error instanceof Error ? error : new Error(String(error));
  }
  return { kept: [...mine.kept, ...(await otherDatabases(mine.name)), ...(await allCaches()), ...storages()], problem };
}

async function lookIntoDatabase(): Promise<{ name: string; kept: Kept[] }> {
  const { name } = await openDevice();
  const measured = await order("measure", {});
  const kept = GROUPS.map((group): Kept => {
    const own = measured.filter((each) => group.stores.includes(each.store));
    const counted = own.find((each) => each.store === group.counted);
    return { ...group, kind: "group", rows: counted?.rows ?? 0, bytes: own.reduce((sum, each) => sum + each.bytes, 0) };
  });
  return { name, kept };
}

async function otherDatabases(mine: string): Promise<Kept[]> {
  const found = await databaseNames();
  const others = found.filter((name) => name !== mine);
  const described = await Promise.all(
    others.map(async (name): Promise<Kept> => {
      const isOurs = name === "stepwell" || name.startsWith("stepwell:");
      const measured = isOurs ? await order("measure", {}, { database: name }) : [];
      const owner = name.slice("stepwell:".length);
      return {
        id: name,
        kind: "database",
        label: !isOurs
          ? `Database “${name}”`
          : owner
            ? `Everything of the account “${owner}”`
            : "Everything from when nobody was signed in",
        what: !isOurs
          ? "Kept by another program at this address."
          : owner
            ? "Files, knowledge and choices of another account in this browser."
            : "Files, knowledge and choices that belong to no account.",
        rows: measured.reduce((sum, each) => sum + each.rows, 0),
        bytes: isOurs ? measured.reduce((sum, each) => sum + each.bytes, 0) : null,
      };
    }),
  );
  return described.filter((each) => each.bytes !== 0); // One of ours that was only opened holds nothing of anybody.
}

async function databaseNames(): Promise<string[]> {
  if (typeof indexedDB === "undefined" || !indexedDB.databases) return [];
  return (await indexedDB.databases()).map((each) => each.name ?? "").filter(Boolean);
}

async function allCaches(): Promise<Kept[]> {
  if (typeof caches === "undefined") return [];
  return Promise.all(
    (await caches.keys()).map(async (name): Promise<Kept> => {
      const cache = await caches.open(name);
      const responses = await cache.matchAll();
      const sizes = await Promise.all(responses.map(async (response) => (await response.blob()).size));
      const isShell = name.startsWith("stepwell-shell-");
      return {
        id: name,
        kind: "cache",
        label: isShell ? "The page itself" : `Cache “${name}”`,
        what: isShell
          ? "Its code, so that it opens without a network. Nothing of yours."
          : "Files that were fetched once and kept.",
        unit: "file",
        rows: sizes.length,
        bytes: sizes.reduce((sum, size) => sum + size, 0),
      };
    }),
  );
}

/** Known by the beginning of the key. */
const KEYS: readonly [prefix: string, label: string, what: string][] = [
  ["stepwell.theme", "Theme", "Light or dark, as you chose."],
  ["stepwell.text", "Text size", "As you chose in Appearance."],
  ["stepwell.width", "Reading width", "As you chose in Appearance."],
  ["stepwell.motion", "Less motion", "As you chose in Appearance."],
  ["stepwell.next-model", "Model for the next conversation", "As you chose beside its title."],
  ["stepwell.draft.", "A message you began", "What you wrote and have not sent."],
  ["stepwell.receipts.", "What you decided", "So that a reload of this tab still shows it."],
  ["stepwell.device-of", "Account of the last visit", "So that your files open without a network."],
];

/** Whether an entry is a message that another account began. */
function isOthersDraft(key: string): boolean {
  const at = key.indexOf("@");
  return key.startsWith("stepwell.draft.") && at > 0 && key.slice(at + 1) !== server.owner;
}

/** The entries of a storage, for taking along: those of other accounts are theirs. */
export function entriesOf(kind: "local" | "session"): Record<string, string> {
  return Object.fromEntries(Object.entries(storageOf(kind) ?? {}).filter(([key]) => !isOthersDraft(key)));
}

function storages(): Kept[] {
  return (["local", "session"] as const).flatMap((kind) => {
    const storage = storageOf(kind);
    return Object.keys(storage ?? {}).map((key): Kept => {
      if (isOthersDraft(key))
        return {
          id: key,
          kind,
          label: `A message of the account “${key.slice(key.indexOf("@") + 1)}”`,
          what: "Begun and not sent.",
          rows: 1,
          bytes: key.length + (storage?.getItem(key)?.length ?? 0),
        };
      const [, label, what] = KEYS.find(([prefix]) => key.startsWith(prefix)) ?? [
        "",
        `Entry “${key}”`,
        kind === "local" ? "A small choice of yours." : "Kept until this tab is closed.",
      ];
      return { id: key, kind, label, what, rows: 1, bytes: key.length + (storage?.getItem(key)?.length ?? 0) };
    });
  });
}

function storageOf(kind: "local" | "session"): Storage | null {
  try {
    return kind === "local" ? window.localStorage : window.sessionStorage;
  } catch {
    return null; // Storage is forbidden here: there is nothing in it.
  }
}

// Erasing ----------------------------------------------------------------------------------------------------------------------------

const TOPICS: Record<GroupId, readonly string[]> = {
  projects: ["projects", "files"],
  versions: ["files"],
  knowledge: ["documents"],
  departures: ["departures"],
  outbox: ["outbox"],
  purse: ["purse"],
  settings: ["projects"],
};

export async function erase(kept: Kept): Promise<void> {
  if (kept.kind === "local" || kept.kind === "session") storageOf(kept.kind)?.removeItem(kept.id);
  else if (kept.kind === "cache") await caches.delete(kept.id);
  else if (kept.kind === "database") await deleteDatabase(kept.id);
  else await eraseGroup(GROUPS.find((group) => group.id === kept.id)!);
}

async function eraseGroup(group: Group): Promise<void> {
  const device = await openDevice();
  await device.write(group.stores, async (stores) => {
    for (const store of group.stores) await stores[store].clear();
  });
  for (const topic of TOPICS[group.id]) announceChange(topic);
}

/** All of it, of every account, and the page's own code. Afterwards nothing is left to look at, so the page must be loaded again. */
export async function eraseEverything(): Promise<void> {
  closeWorker();
  keepNothingMore();
  for (const name of await databaseNames()) await deleteDatabase(name);
  const workers = (await navigator.serviceWorker?.getRegistrations()) ?? [];
  for (const worker of workers) await worker.unregister();
  if (typeof caches !== "undefined") for (const name of await caches.keys()) await caches.delete(name);
  storageOf("local")?.clear();
  storageOf("session")?.clear();
}

/** Other tabs give way by themselves; one that does not holds it up, and that is said. */
function deleteDatabase(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    const late = setTimeout(
      () => reject(new Error("Another tab of this page still holds your files. Close it, and erase again.")),
      5_000,
    );
    request.onsuccess = () => (clearTimeout(late), resolve());
    request.onerror = () => (
      clearTimeout(late),
      reject(request.error ?? new Error("The browser refused to erase it."))
    );
  });
}
