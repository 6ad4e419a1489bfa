/** Why something was not done with a file. `code` and `message` go to the agent as they are; `sentence` is for the person. */

export type ErrorCode = "rejected" | "not_found" | "conflict" | "too_large" | "timeout" | "failed";

export class FileError extends Error {
  override name = "FileError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly path?: string,
  ) {
    super(message);
  }

  get sentence(): string {
    const said = this.message.replace(/^Error: /, "");
    if (this.path && !said.includes(this.path)) return `${this.path}: ${said}${/[.!?]$/.test(said) ? "" : "."}`;
    return said.charAt(0).toUpperCase() + said.slice(1);
  }
}
