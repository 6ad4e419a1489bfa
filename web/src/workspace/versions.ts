/** The versions of a workspace's files as approvals name them: by content. Looked at while a person decides, and only as far as needed. */

import { blake2b } from "@noble/hashes/blake2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Versions } from "../state/file-versions";
import { listPage, readPart, type WorkspaceFile } from "./files";

const LOOK_EVERY_MS = 10_000;
/** Of a larger file the version is not worth its transfer; the server refuses a change on a wrong base anyway. */
const MOST_BYTES = 1024 * 1024;
const VERSION_BYTES = 12;

/** `rootNow` says whose files are meant, and null where they are none that the page can look at. */
export function watchWorkspace(rootNow: () => string | null): Versions {
  return {
    watch(path, tell) {
      let stopped = false;
      let known = "";
      const look = async () => {
        const root = rootNow();
        if (root === null || document.hidden) return;
        // By the listing first: it tells of a change without the file, and of a file that is not there without an error.
        const found = await find(root, path);
        const mark = found ? `${found.modified_at} ${found.size}` : "none";
        if (stopped || found === undefined || mark === known || (found && found.size > MOST_BYTES)) return;
        const file = found && (await readPart(root, path, 0, MOST_BYTES));
        known = mark;
        if (!stopped) tell(file ? versionOf(file.bytes) : null);
      };
      // Nothing is said where nothing is known: no workspace is served, or the server is away for a moment.
      const tryLook = () =>
        void look().catch((error: unknown) =>
          console.warn("The file that waits for approval cannot be looked at:", error),
        );
      tryLook();
      const timer = setInterval(tryLook, LOOK_EVERY_MS);
      window.addEventListener("focus", tryLook);
      return () => {
        stopped = true;
        clearInterval(timer);
        window.removeEventListener("focus", tryLook);
      };
    },
  };
}

/** The content's name in an approval (`base_version`). Browsers have no such digest of their own. */
export function versionOf(content: Uint8Array): string {
  return bytesToHex(blake2b(content, { dkLen: VERSION_BYTES }));
}

/** Null: there is no such file. Undefined: its folder is too large to say. */
async function find(root: string, path: string): Promise<WorkspaceFile | null | undefined> {
  const page = await listPage(root, null, path.slice(0, path.lastIndexOf("/") + 1));
  const found = page.files.find((file) => file.path === path);
  return found ?? (page.cursor && page.files.at(-1)!.path < path ? undefined : null);
}
