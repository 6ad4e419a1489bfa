// The projects as the dialog shows them: which there are, the one that is open with its files, an import that is under way. What is kept
// is the device's (web/src/device); this follows it, also when another tab or an agent changes something.

import { DeviceUnavailableError, onChange } from "../device/database";
import { openFiles, type FileRow, type FileVersion, type ProjectFiles } from "../device/files";
import {
  changeProject,
  chooseProject,
  createProject,
  currentProject,
  listProjects,
  removeProject,
  type Project,
} from "../device/projects";
import { askToKeep } from "../device/persistence";
import { plural } from "../lib/words";
import { saveBlob } from "../lib/download";
import { projectNameOf } from "./gathering";
import type { ImportProgress, ImportResult, Source } from "./importing";
import { refuseSource } from "./limits";
import { savePage } from "./pages";
import { CancelledError, order } from "./worker-client";

export interface Notice {
  readonly text: string;
  readonly kind: "plain" | "bad";
  readonly more?: readonly string[];
  readonly undo?: () => void;
}

/** A text that is being written. */
export interface Draft {
  readonly text: string;
  /** The hash of the file that it was begun on: it may be saved in place of that one only. */
  readonly base: string;
}

export interface Job {
  readonly title: string;
  readonly labels: readonly string[];
  readonly progress: ImportProgress;
  readonly control: AbortController;
}

const UNDO_MS = 8_000;
const TOGETHER_MS = 40;

class Projects {
  all = $state.raw<readonly Project[]>([]);
  /** The one that agents may work on. */
  currentId = $state<string | null>(null);
  openId = $state<string | null>(null);
  files = $state.raw<readonly FileRow[]>([]);
  status = $state<"loading" | "ready" | "failed">("loading");
  problem = $state.raw<Error | null>(null);
  notice = $state.raw<Notice | null>(null);
  job = $state.raw<Job | null>(null);
  /** By the file's id: kept while the page is open. */
  drafts = $state<Record<string, Draft>>({});
  private leaving = $state.raw<ReadonlySet<string>>(new Set());
  private watching = false;
  private refreshing: ReturnType<typeof setTimeout> | undefined;
  private noticeTimer: ReturnType<typeof setTimeout> | undefined;

  get shown(): readonly Project[] {
    return this.all.filter((project) => !this.leaving.has(project.id));
  }
  get open(): Project | null {
    return this.shown.find((project) => project.id === this.openId) ?? null;
  }

  async load(): Promise<void> {
    clearTimeout(this.refreshing);
    this.refreshing = undefined;
    try {
      const [all, current] = await Promise.all([listProjects(), currentProject()]);
      this.all = all;
      this.currentId = current?.id ?? null;
      if (!this.open)
        this.openId = this.shown.find((project) => project.id === this.currentId)?.id ?? this.shown[0]?.id ?? null;
      this.watch();
      await this.loadFiles();
      this.status = "ready";
    } catch (error) {
      this.problem = error instanceof Error ? error : new Error(String(error));
      this.status = "failed";
    }
  }

  get unavailable(): boolean {
    return this.problem instanceof DeviceUnavailableError;
  }

  private watch(): void {
    if (this.watching) return;
    this.watching = true;
    onChange("projects", () => this.refresh());
    onChange("files", () => this.refresh());
  }

  /** Changes come in flocks: an agent's ten, an import's two. One look is enough for them. */
  private refresh(): void {
    this.refreshing ??= setTimeout(() => void this.load(), TOGETHER_MS);
  }

  private async loadFiles(): Promise<void> {
    const id = this.open?.id;
    const files = id ? await (await openFiles(id)).list() : [];
    if (this.open?.id === id) this.files = files;
  }

  show(id: string | null): Promise<void> {
    this.openId = id;
    this.files = [];
    return this.attempt(() => this.loadFiles());
  }

  async filesOfOpen(): Promise<ProjectFiles> {
    return openFiles(this.openId!);
  }

  // Projects ---------------------------------------------------------------------------------------------------------------------

  create(name: string): Promise<void> {
    return this.attempt(async () => {
      const project = await createProject(name);
      void askToKeep();
      if (!this.currentId) await chooseProject(project.id);
      this.openId = project.id;
      await this.load();
    });
  }
  rename(name: string): Promise<void> {
    return this.attempt(() => changeProject(this.openId!, { name }));
  }
  askBeforeChanges(ask: boolean): Promise<void> {
    return this.attempt(() => changeProject(this.openId!, { write_approval: ask }));
  }
  keepNotes(keep: boolean): Promise<void> {
    return this.attempt(() => changeProject(this.openId!, { keeps_notes: keep }));
  }
  useHere(use: boolean): Promise<void> {
    return this.attempt(() => chooseProject(use ? this.openId : null));
  }

  /** Gone from view at once, from the device when nobody has undone it. */
  remove(): void {
    const project = this.open;
    if (!project) return;
    this.leaving = new Set([...this.leaving, project.id]);
    const comeBack = () => (this.leaving = new Set([...this.leaving].filter((id) => id !== project.id)));
    const timer = setTimeout(() => void this.attempt(() => removeProject(project.id)).then(comeBack), UNDO_MS);
    const undo = () => {
      clearTimeout(timer);
      comeBack();
      void this.show(project.id);
    };
    this.tell({ text: `“${project.name}” is deleted.`, kind: "plain", undo }, UNDO_MS);
    void this.show(this.shown[0]?.id ?? null);
  }

  // Files ------------------------------------------------------------------------------------------------------------------------

  /** One file, or a folder (its path ends in "/") with everything in it. */
  removeFiles(key: string): Promise<void> {
    return this.attempt(async () => {
      const files = await this.filesOfOpen();
      const rows = this.files.filter((row) => row.path === key || (key.endsWith("/") && row.path.startsWith(key)));
      await files.removeAll(rows.map((row) => row.path));
      const ids = new Set(rows.map((row) => row.id));
      const undo = () =>
        void this.attempt(async () => {
          for (const version of (await files.removed()).filter((each) => ids.has(each.file_id)))
            await files.restore(version, "Undone");
        });
      this.tell(
        {
          text: rows.length === 1 ? `“${rows[0]!.title}” is deleted.` : `${plural(rows.length, "file")} are deleted.`,
          kind: "plain",
          undo,
        },
        UNDO_MS,
      );
    });
  }

  /** What was deleted earlier and can come back: the last version of each. */
  async listRemoved(): Promise<readonly FileVersion[]> {
    return (await this.filesOfOpen()).removed();
  }
  bringBack(version: FileVersion): Promise<void> {
    return this.attempt(async () => {
      await (await this.filesOfOpen()).restore(version, "Brought back");
      this.tell({ text: `“${version.path.slice(1)}” is back.`, kind: "plain" }, UNDO_MS);
    });
  }

  async createFile(path: string): Promise<FileRow | null> {
    let made: FileRow | null = null;
    await this.attempt(async () => {
      made = await (await this.filesOfOpen()).write(path, "", { by: "you", reason: "Created" });
      await this.loadFiles();
    });
    return made;
  }

  async savePage(url: string): Promise<FileRow | null> {
    let made: FileRow | null = null;
    await this.attempt(async () => {
      made = await savePage(await this.filesOfOpen(), url);
      await this.loadFiles();
    });
    return made;
  }

  /** What was written while the text was being saved stays, and goes on from what is saved. */
  settleDraft(id: string, saved: Draft): void {
    const draft = this.drafts[id];
    if (draft?.text === saved.text) delete this.drafts[id];
    else if (draft) this.drafts[id] = { text: draft.text, base: saved.base };
  }

  // Import and export ------------------------------------------------------------------------------------------------------------

  async import(sources: readonly Source[]): Promise<void> {
    if (!sources.length || this.job) return;
    try {
      for (const source of sources) refuseSource(source);
    } catch (error) {
      return this.fail(error);
    }
    const control = new AbortController();
    const labels = sources.map((source) => source.label);
    const show = (progress: ImportProgress) => (this.job = { title: "Importing", labels, progress, control });
    show({ done: labels.map(() => 0), total: sources.map((source) => source.files.length) });
    this.notice = null;
    try {
      const what = {
        id: crypto.randomUUID(),
        projectId: this.open?.id ?? null,
        projectName: projectNameOf(sources),
        sources,
      };
      const result = await order("import", { order: what }, { signal: control.signal, tell: show });
      void askToKeep();
      if (!this.currentId) await chooseProject(result.projectId);
      this.openId = result.projectId;
      await this.load();
      this.tell({ text: summaryOf(result), kind: "plain", more: result.told }, result.told.length ? 0 : UNDO_MS);
    } catch (error) {
      if (error instanceof CancelledError) this.tell({ text: "Cancelled. Nothing was imported.", kind: "plain" });
      else this.fail(error);
    } finally {
      this.job = null;
    }
  }

  async export(): Promise<void> {
    const project = this.open;
    if (!project || this.job) return;
    const control = new AbortController();
    const show = (done: number, total: number) =>
      (this.job = { title: "Exporting", labels: [project.name], progress: { done: [done], total: [total] }, control });
    show(0, this.files.length);
    try {
      const { blob, files } = await order(
        "export",
        { projectId: project.id },
        { signal: control.signal, tell: ({ done, total }) => show(done, total) },
      );
      saveBlob(`${project.name.replace(/[/\\:*?"<>|]/g, "-")}.zip`, blob);
      this.tell({ text: `“${project.name}” is exported with ${plural(files, "file")}.`, kind: "plain" }, UNDO_MS);
    } catch (error) {
      if (!(error instanceof CancelledError)) this.fail(error);
    } finally {
      this.job = null;
    }
  }

  // Telling ----------------------------------------------------------------------------------------------------------------------

  /** Stays until the next one, or for `ms`: while it offers to undo something, the offer must be true. */
  tell(notice: Notice, ms = 0): void {
    clearTimeout(this.noticeTimer);
    this.notice = notice;
    if (ms) this.noticeTimer = setTimeout(() => this.notice === notice && (this.notice = null), ms);
  }
  undo(): void {
    const undo = this.notice?.undo;
    this.notice = null;
    undo?.();
  }
  fail(error: unknown): void {
    const sentence =
      (error as { sentence?: string }).sentence ?? (error instanceof Error ? error.message : String(error));
    this.tell({ text: sentence, kind: "bad" });
  }
  private async attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.fail(error);
    }
  }
}

function summaryOf(result: ImportResult): string {
  const parts = [
    result.added && `${plural(result.added, "file")} imported`,
    result.replaced && `${plural(result.replaced, "file")} changed (what they were is under Versions)`,
    result.unchanged && `${result.unchanged.toLocaleString("en")} unchanged`,
    result.leftOut && `${result.leftOut.toLocaleString("en")} left out (.git, node_modules and the like)`,
    result.told.length && `${plural(result.told.length, "name")} changed`,
  ];
  return `${parts.filter(Boolean).join(", ")}.`;
}

export const projects = new Projects();
