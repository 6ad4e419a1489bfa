/** The projects on this device, and the one that goes along with messages. Tabs hear `onChange("projects", ...)`. */

import { announceChange, openDevice, type Project } from "./database";

export type { Project } from "./database";

const CURRENT = "current_project";
const MAX_NAME_CHARS = 100;

export async function createProject(
  name: string,
  more: Partial<Pick<Project, "id" | "kind" | "handle" | "write_approval">> = {},
): Promise<Project> {
  const project: Project = {
    id: crypto.randomUUID(),
    name: checkName(name),
    created_at: new Date().toISOString(),
    write_approval: true,
    kind: "kept",
    ...more,
  };
  await (await openDevice()).write("projects", (stores) => stores.projects.add(project));
  announceChange("projects");
  return project;
}

/** Oldest first. */
export async function listProjects(): Promise<Project[]> {
  const found = await (await openDevice()).read("projects", (stores) => stores.projects.all());
  return found.sort((one, other) => (one.created_at < other.created_at ? -1 : 1));
}

export async function changeProject(
  id: string,
  changes: Partial<Pick<Project, "name" | "write_approval" | "keeps_notes" | "handle">>,
): Promise<Project> {
  const checked = changes.name === undefined ? changes : { ...changes, name: checkName(changes.name) };
  const changed = await (
    await openDevice()
  ).write("projects", async (stores) => {
    const project = await stores.projects.get(id);
    if (!project) throw new Error("This project is no longer on this device.");
    const next = { ...project, ...checked };
    await stores.projects.put(next);
    return next;
  });
  announceChange("projects");
  return changed;
}

/** With its files and their versions. */
export async function removeProject(id: string): Promise<void> {
  const stores = ["projects", "files", "contents", "versions", "file_vectors", "settings"] as const;
  await (
    await openDevice()
  ).write(stores, async (all) => {
    for (const store of [all.files, all.contents, all.versions]) {
      for (const key of await store.keysBy("project", id)) await store.delete(key);
    }
    await all.file_vectors.clear(); // A cache: what other projects need of it is made again.
    await all.projects.delete(id);
    if ((await all.settings.get(CURRENT))?.value === id) await all.settings.delete(CURRENT);
  });
  announceChange("projects");
  announceChange("files");
}

/** The one that agents may work on; null: none. */
export async function currentProject(): Promise<Project | null> {
  return (await openDevice()).read(["projects", "settings"], async (stores) => {
    const chosen = await stores.settings.get(CURRENT);
    return (typeof chosen?.value === "string" && (await stores.projects.get(chosen.value))) || null;
  });
}

export async function chooseProject(id: string | null): Promise<void> {
  await (await openDevice()).write("settings", (stores) => stores.settings.put({ key: CURRENT, value: id }));
  announceChange("projects");
}

function checkName(name: string): string {
  const trimmed = name.trim();
  if (!trimmed) throw new Error("A project needs a name.");
  if (trimmed.length > MAX_NAME_CHARS) throw new Error(`A project's name has at most ${MAX_NAME_CHARS} characters.`);
  return trimmed;
}
