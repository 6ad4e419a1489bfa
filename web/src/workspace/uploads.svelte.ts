// Files on their way into a workspace, one after the other: how far each is, what stands in its way, and how it ended.
//
//   waiting -> sending -> done | failed | cancelled
//                 └-> conflict: there is such a file; the person replaces it, keeps both, or leaves it -> sending | cancelled

import { ConflictError, putFile, type Base } from "./files";

export type UploadState = "waiting" | "sending" | "done" | "failed" | "cancelled" | "conflict";

export class Upload {
  state = $state<UploadState>("waiting");
  sent = $state(0);
  error = $state("");
  path = $state("");
  base: Base = "none";
  readonly cancelling = new AbortController();

  constructor(
    readonly id: number,
    readonly root: string,
    path: string,
    readonly body: Blob,
  ) {
    this.path = path;
  }
  get open(): boolean {
    return this.state === "waiting" || this.state === "sending" || this.state === "conflict";
  }
}

export class Uploads {
  list = $state.raw<readonly Upload[]>([]);
  private next = 1;
  private working = false;

  /** `onstored` is told of each file that has arrived. */
  constructor(private readonly onstored: (path: string) => void) {}

  add(root: string, path: string, body: Blob): void {
    this.list = [...this.list, new Upload(this.next++, root, path, body)];
    void this.work();
  }

  /** Again, on what the person has seen, or under another name. */
  resolve(upload: Upload, path: string, base: Base): void {
    [upload.path, upload.base, upload.state, upload.sent] = [path, base, "waiting", 0];
    void this.work();
  }

  cancel(upload: Upload): void {
    upload.cancelling.abort(new Error("The upload was cancelled. Nothing was stored."));
    upload.state = "cancelled";
  }

  forget(): void {
    this.list = this.list.filter((each) => each.open);
  }

  private async work(): Promise<void> {
    if (this.working) return;
    this.working = true;
    for (let upload = this.following(); upload; upload = this.following()) await this.send(upload);
    this.working = false;
  }

  private following(): Upload | undefined {
    return this.list.find((each) => each.state === "waiting");
  }

  private async send(upload: Upload): Promise<void> {
    upload.state = "sending";
    try {
      const sending = { signal: upload.cancelling.signal, onprogress: (sent: number) => (upload.sent = sent) };
      await putFile(upload.root, upload.path, upload.body, upload.base, sending);
      upload.state = "done";
      this.onstored(upload.path);
    } catch (error) {
      if (upload.cancelling.signal.aborted) upload.state = "cancelled";
      else if (error instanceof ConflictError) upload.state = "conflict";
      else [upload.state, upload.error] = ["failed", error instanceof Error ? error.message : String(error)];
    }
  }
}

/** The files of a drop with their paths, folders and what is in them included. */
export async function filesOf(dropped: DataTransfer): Promise<{ path: string; file: File }[]> {
  // Entries have to be taken while the event lasts.
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry?.() ?? null).filter((entry) => entry !== null);
  if (!entries.length) return [...dropped.files].map((file) => ({ path: file.name, file }));
  return (await Promise.all(entries.map(walk))).flat();
}

async function walk(entry: FileSystemEntry): Promise<{ path: string; file: File }[]> {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ path, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: FileSystemEntry[] = [];
  // A browser gives a folder's entries in batches, and an empty one at the end.
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!batch.length) break;
    found.push(...batch);
  }
  return (await Promise.all(found.map(walk))).flat();
}
