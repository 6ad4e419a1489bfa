/** The versions of a workspace's files as approvals name them: by content. Looked at while a person decides, and only as far as needed. */

import type { Versions } from "../dock/bases";
import { blake2b } from "../lib/blake2b";
import { readPart } from "./files";

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
        const file = await readPart(root, path, 0, MOST_BYTES);
        if (stopped || (file && (file.size > MOST_BYTES || file.etag === known))) return;
        known = file?.etag ?? "";
        tell(file ? blake2b(file.bytes, VERSION_BYTES) : null);
      };
      // Nothing is said where nothing is known: no workspace is served, or the server is away for a moment.
      const tryLook = () => void look().catch((error: unknown) => console.warn("The file that waits for approval cannot be looked at:", error));
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
