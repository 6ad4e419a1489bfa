// Files, folders and zip files become files of a project: all of them, or none. Runs in a worker.
//
//   read the tables of contents, find each file its place      nothing is written yet; too much, or a hostile name, ends it here
//   stage: batches of a few megabytes under "staging:<id>"      no listing shows them; quota, cancel and faults take them away again
//   publish: one transaction moves their listings               from one moment to the next all of them are there
//
// A browser that is closed in the middle leaves staged files behind; `sweepStaging` takes them away at the next start. Their import holds
// a lock with its id, so one that goes on in another tab is left alone.

import { packBytes } from "../device/content";
import {
  QuotaError,
  type Device,
  type FileContent,
  type FileRow,
  type FileVersion,
  type Project,
  type Stores,
} from "../device/database";
import { nameOf } from "../lib/paths";
import { keyOf, typeOf } from "../device/paths";
import { plural } from "../lib/words";
import { readArchive, Stretches, unpack, type ArchiveEntry } from "./archive";
import { LIMITS, refuseSource, refuseTooLarge, TooLargeError } from "./limits";
import { MANIFEST, readManifest, type Manifest } from "./manifest";
import { isLeftOut, Places, readPath, type Placed } from "./names";

/** One thing that the person chose: a file, a folder with its files, a zip. */
export interface Source {
  readonly label: string;
  readonly kind: "files" | "zip";
  readonly files: readonly { readonly name: string; readonly file: File }[];
}

export interface ImportOrder {
  readonly id: string;
  /** Null: a new project. */
  readonly projectId: string | null;
  /** For a new project, unless the zip says its own. */
  readonly projectName: string;
  readonly sources: readonly Source[];
}

export interface ImportProgress {
  /** Of each source, in their order. */
  readonly done: readonly number[];
  readonly total: readonly number[];
}

export interface ImportResult {
  readonly projectId: string;
  readonly added: number;
  readonly replaced: number;
  readonly unchanged: number;
  readonly leftOut: number;
  /** Sentences about names that were changed. */
  readonly told: readonly string[];
}

interface Reading {
  readonly source: number;
  readonly placed: Placed;
  readonly size: number;
  readonly modifiedAt: string;
  readonly read: () => Promise<ArrayBuffer>;
}

const BATCH_BYTES = 8_000_000;
const BATCH_FILES = 200;
const HANDFUL_BYTES = 2_000_000;
const HANDFUL_FILES = 20;
const STAGING = "staging:";
const lockOf = (id: string) => `stepwell.import.${id}`;

export async function importFiles(
  device: Device,
  order: ImportOrder,
  tell: (progress: ImportProgress) => void,
  signal: AbortSignal,
): Promise<ImportResult> {
  return navigator.locks.request(lockOf(order.id), async () => {
    const plan = await planImport(device, order);
    try {
      const unchanged = await stage(device, order, plan, tell, signal);
      signal.throwIfAborted();
      return await publish(device, order, plan, unchanged);
    } catch (error) {
      await discard(device, STAGING + order.id);
      throw explain(error);
    }
  });
}

function explain(error: unknown): unknown {
  if (error instanceof QuotaError)
    return new Error(
      "There is not enough room on your device for all of these files, so none was imported. Free some space under “This device”, or import fewer.",
      { cause: error },
    );
  if (error instanceof Error && error.name === "ConstraintError")
    return new Error("The project was changed by somebody else while this was imported, so nothing was. Try again.", {
      cause: error,
    });
  return error;
}

// Planning ---------------------------------------------------------------------------------------------------------------------------

interface Plan {
  readonly projectId: string;
  readonly project: Project | null;
  readonly readings: readonly Reading[];
  readonly existing: ReadonlyMap<string, FileRow>;
  readonly manifest: Manifest | null;
  readonly told: readonly string[];
  readonly leftOut: number;
}

interface Found {
  readonly name: string;
  readonly size: number;
  readonly modifiedAt: Date;
  readonly source: number;
  readonly read: () => Promise<ArrayBuffer>;
}

async function planImport(device: Device, order: ImportOrder): Promise<Plan> {
  const { found, manifest } = await gather(order.sources);
  const paths = found.map((file) => ({ ...file, path: readPath(file.name) }));
  const wanted = paths.filter((file) => !isLeftOut(file.path));
  refuseTooMuch(wanted);
  const isNew = order.projectId === null || manifest !== null;
  const projectId = isNew ? crypto.randomUUID() : order.projectId!;
  const listing = isNew ? [] : await device.read("files", (stores) => stores.files.allBy("project", projectId));
  const places = new Places(listing.map((row) => row.path));
  const readings = wanted.map((file): Reading => ({
    ...file,
    placed: places.place(file.path),
    modifiedAt: manifest?.files[file.path]?.modified_at ?? file.modifiedAt.toISOString(),
  }));
  const project: Project | null = isNew
    ? {
        id: projectId,
        name: manifest?.name ?? order.projectName,
        created_at: new Date().toISOString(),
        write_approval: true,
        kind: "kept",
      }
    : null;
  return {
    projectId,
    project,
    readings,
    manifest,
    told: places.told,
    leftOut: paths.length - wanted.length,
    existing: new Map(listing.map((row) => [row.path, row])),
  };
}

async function gather(sources: readonly Source[]): Promise<{ found: Found[]; manifest: Manifest | null }> {
  const found: Found[] = [];
  let manifest: Manifest | null = null;
  for (const [n, source] of sources.entries()) {
    refuseSource(source);
    for (const { name, file } of source.files) {
      if (source.kind === "files") {
        found.push({
          name,
          size: file.size,
          modifiedAt: new Date(file.lastModified),
          source: n,
          read: () => file.arrayBuffer(),
        });
        continue;
      }
      const zip = new Stretches(file);
      const entries = await readArchive(zip);
      // Only a whole import of one exported project brings its settings along.
      if (sources.length === 1 && entries[0]?.name === MANIFEST)
        manifest = readManifest(new TextDecoder().decode(await unpackWhole(zip, entries[0])));
      for (const entry of manifest ? entries.slice(1) : entries) {
        refuseTooLarge(entry.name, entry.size);
        found.push({
          name: entry.name,
          size: entry.size,
          modifiedAt: entry.modifiedAt,
          source: n,
          read: () => unpackWhole(zip, entry),
        });
      }
    }
  }
  return { found, manifest };
}

async function unpackWhole(zip: Stretches, entry: ArchiveEntry): Promise<ArrayBuffer> {
  const whole = new Uint8Array(entry.size);
  let at = 0;
  // `unpack` sees to it that no more comes than the entry says.
  for await (const piece of unpack(zip, entry)) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole.buffer;
}

function refuseTooMuch(found: readonly Found[]): void {
  if (!found.length) throw new TooLargeError("There is no file to import here.");
  if (found.length > LIMITS.files)
    throw new TooLargeError(
      `These are ${plural(found.length, "file")}. At most ${LIMITS.files.toLocaleString("en")} can be imported at once. Nothing was imported.`,
    );
  refuseTooLarge(
    "All of it together",
    found.reduce((sum, file) => sum + file.size, 0),
    LIMITS.total,
  );
}

// Staging ----------------------------------------------------------------------------------------------------------------------------

/** Writes everything aside. Gives the number of files that are there already, byte for byte. */
async function stage(
  device: Device,
  order: ImportOrder,
  plan: Plan,
  tell: (progress: ImportProgress) => void,
  signal: AbortSignal,
): Promise<number> {
  const total = order.sources.map((_, n) => plan.readings.filter((reading) => reading.source === n).length);
  const done = total.map(() => 0);
  let batch: { row: FileRow; content: FileContent }[] = [];
  let [bytes, unchanged] = [0, 0];
  const write = async () => {
    const rows = batch;
    [batch, bytes] = [[], 0];
    await device.write(["files", "contents"], async (stores) => {
      await Promise.all(rows.flatMap(({ row, content }) => [stores.files.add(row), stores.contents.add(content)]));
    });
    tell({ done: [...done], total });
  };
  tell({ done: [...done], total });
  for (const handful of handfuls(plan.readings)) {
    signal.throwIfAborted();
    const described = await Promise.all(handful.map((reading) => describe(reading, order.id, plan)));
    handful.forEach((reading, n) => {
      done[reading.source]!++;
      bytes += reading.size;
      if (reading.placed.replaces && plan.existing.get(reading.placed.path)?.hash === described[n]!.row.hash)
        unchanged++;
      else batch.push(described[n]!);
    });
    if (bytes >= BATCH_BYTES || batch.length >= BATCH_FILES) await write();
  }
  await write();
  return unchanged;
}

/** Some small files at a time, a large one alone: reading and hashing are mostly waiting. */
function* handfuls(readings: readonly Reading[]): Generator<Reading[]> {
  let [handful, bytes]: [Reading[], number] = [[], 0];
  for (const reading of readings) {
    if (handful.length && (handful.length >= HANDFUL_FILES || bytes + reading.size > HANDFUL_BYTES)) {
      yield handful;
      [handful, bytes] = [[], 0];
    }
    handful.push(reading);
    bytes += reading.size;
  }
  if (handful.length) yield handful;
}

async function describe(
  reading: Reading,
  importId: string,
  plan: Plan,
): Promise<{ row: FileRow; content: FileContent }> {
  const { path } = reading.placed;
  const { content, hash, size } = await packBytes(await reading.read());
  const { binary, ...stored } = content;
  const id = crypto.randomUUID();
  const kept = plan.manifest?.files[path];
  const row: FileRow = {
    id,
    project_id: STAGING + importId,
    path,
    path_key: keyOf(path),
    title: kept?.title ?? nameOf(path),
    type: kept?.type ?? typeOf(path),
    hash,
    size,
    modified_at: reading.modifiedAt,
    ...(binary ? { binary } : {}),
  };
  return { row, content: { file_id: id, project_id: plan.projectId, ...stored } };
}

// Publishing -------------------------------------------------------------------------------------------------------------------------

async function publish(device: Device, order: ImportOrder, plan: Plan, unchanged: number): Promise<ImportResult> {
  let replaced = 0;
  let added = 0;
  await device.write(["projects", "files", "contents", "versions"], async (stores) => {
    if (plan.project) await stores.projects.add(plan.project);
    else if (!(await stores.projects.get(plan.projectId)))
      throw new Error("The project was deleted while this was imported, so nothing was.");
    const staged = await stores.files.allBy("project", STAGING + order.id);
    const replacing = new Set(
      plan.readings.filter((reading) => reading.placed.replaces).map((reading) => reading.placed.path),
    );
    for (const row of staged.filter((each) => replacing.has(each.path))) {
      await replace(stores, row, plan.projectId, order.sources[0]?.label ?? "");
      replaced++;
    }
    const fresh = staged.filter((row) => !replacing.has(row.path));
    await Promise.all(fresh.map((row) => stores.files.put({ ...row, project_id: plan.projectId })));
    added = fresh.length;
  });
  return { projectId: plan.projectId, added, replaced, unchanged, leftOut: plan.leftOut, told: plan.told };
}

/** The file keeps its id; what it was becomes a version. */
async function replace(
  stores: Stores<"files" | "contents" | "versions">,
  staged: FileRow,
  projectId: string,
  from: string,
): Promise<void> {
  const row = await stores.files.by("path", [projectId, staged.path_key]);
  const content = await stores.contents.get(staged.id);
  await stores.files.delete(staged.id);
  await stores.contents.delete(staged.id);
  const id = row?.id ?? staged.id;
  if (row) {
    const before = await stores.contents.get(row.id);
    const version: FileVersion = {
      id: crypto.randomUUID(),
      file_id: row.id,
      project_id: projectId,
      path: row.path,
      hash: row.hash,
      at: new Date().toISOString(),
      by: "import",
      reason: `Imported again from ${from}`,
    };
    await stores.versions.add({
      ...version,
      ...(before?.text === undefined ? { blob: before?.blob } : { text: before.text }),
    });
  }
  await stores.files.put({ ...staged, id, project_id: projectId });
  await stores.contents.put({ ...content!, file_id: id });
}

// Cleaning up ------------------------------------------------------------------------------------------------------------------------

async function discard(device: Device, staging: string): Promise<void> {
  await device.write(["files", "contents"], async (stores) => {
    for (const id of await stores.files.keysBy("project", staging)) {
      await stores.files.delete(id);
      await stores.contents.delete(id);
    }
  });
}

/** Takes away what imports that were cut off have left. Gives how many there were. */
export async function sweepStaging(device: Device): Promise<number> {
  const range = IDBKeyRange.bound(STAGING, `${STAGING}\uffff`);
  const found = new Set<string>();
  await device.read("files", (stores) => stores.files.each((row) => void found.add(row.project_id), "project", range));
  let swept = 0;
  for (const staging of found) {
    await navigator.locks.request(lockOf(staging.slice(STAGING.length)), { ifAvailable: true }, async (lock) => {
      if (!lock) return;
      await discard(device, staging);
      swept++;
    });
  }
  return swept;
}
