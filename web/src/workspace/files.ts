/**
 * Files of a workspace over the API: pages of names, bytes with their version, and changes that name the version they are meant for.
 *
 * Every change says what it replaces (`If-Match`), or that there is nothing yet (`If-None-Match: *`). What has changed meanwhile is a
 * `ConflictError`, and nothing has happened.
 */

import { ApiError, request, send, type Schemas } from "../api";

export type WorkspaceFile = Schemas["WorkspaceFile"];
type Listing = Schemas["WorkspaceListing"];
type Begun = Schemas["UploadBegun"];

/** What a change replaces: the version that was seen, or nothing. */
export type Base = { etag: string } | "none";

export class ConflictError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ConflictError";
  }
}

export interface Part {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  /** Of the whole file. */
  readonly size: number;
}

const PLACE = "/api/workspace/files";
export const PAGE = 500;
/** From here on a file is sent in parts, so that a lost connection costs one of them. */
export const IN_PARTS_FROM = 16 * 1024 * 1024;
const PART_BYTES = 8 * 1024 * 1024;
const TRIES = 3;

export function addressOf(root: string, path: string): string {
  const encoded = path.replace(/^\//, "").split("/").map(encodeURIComponent).join("/");
  return `${PLACE}/${encoded}${root ? `?root=${encodeURIComponent(root)}` : ""}`;
}

export function listPage(root: string, cursor: string | null, prefix = "/"): Promise<Listing> {
  const query = new URLSearchParams({ prefix, limit: String(PAGE) });
  if (root) query.set("root", root);
  if (cursor) query.set("cursor", cursor);
  return request<Listing>(`${PLACE}?${query}`);
}

/** Bytes from `start` on, at most so many; null: there is no such file. */
export async function readPart(root: string, path: string, start: number, most: number): Promise<Part | null> {
  try {
    const response = await send(addressOf(root, path), {
      headers: { Accept: "*/*", Range: `bytes=${start}-${start + most - 1}` },
      cache: "no-store",
    });
    const size =
      /\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1] ??
      response.headers.get("Content-Length") ??
      "0";
    return {
      bytes: new Uint8Array(await response.arrayBuffer()),
      etag: response.headers.get("ETag") ?? "",
      size: Number(size),
    };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

export async function deleteFile(root: string, path: string, etag: string): Promise<void> {
  await orConflict(request<void>(addressOf(root, path), { method: "DELETE", headers: { "If-Match": etag } }));
}

export interface Sending {
  readonly signal?: AbortSignal;
  /** Bytes that have arrived. */
  readonly onprogress?: (sent: number) => void;
}

/** Stores a file, whole or not at all. */
export async function putFile(
  root: string,
  path: string,
  body: Blob,
  base: Base,
  sending: Sending = {},
): Promise<WorkspaceFile> {
  if (body.size >= IN_PARTS_FROM) return putInParts(root, path, body, base, sending);
  const condition: Record<string, string> = base === "none" ? { "If-None-Match": "*" } : { "If-Match": base.etag };
  return orConflict(transfer<WorkspaceFile>(addressOf(root, path), body, condition, sending));
}

async function putInParts(
  root: string,
  path: string,
  body: Blob,
  base: Base,
  sending: Sending,
): Promise<WorkspaceFile> {
  const condition = base === "none" ? { if_none_match: "*" } : { if_match: base.etag };
  const begun = await request<Begun>("/api/workspace/uploads", {
    method: "POST",
    json: { path, ...(root ? { root } : {}), ...condition },
    signal: sending.signal,
  });
  const place = `/api/workspace/uploads/${begun.upload_id}`;
  const size = Math.max(Math.min(PART_BYTES, begun.max_part_bytes), Math.ceil(body.size / begun.max_parts));
  for (let part = 1, start = 0; start < body.size; part++, start += size) {
    const piece = body.slice(start, start + size);
    const onprogress = (sent: number) => sending.onprogress?.(start + sent);
    await again(() => transfer(`${place}/${part}`, piece, {}, { signal: sending.signal, onprogress }), sending.signal);
  }
  return orConflict(
    again(
      () => request<WorkspaceFile>(`${place}/complete`, { method: "POST", signal: sending.signal, timeoutMs: 120_000 }),
      sending.signal,
    ),
  );
}

/** The same part again replaces it, and a completed upload answers the same, so that trying again is safe. */
async function again<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const final = error instanceof ApiError && error.status < 500;
      if (final || signal?.aborted || tries === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * tries));
    }
  }
}

/** A PUT that tells how far it is, which `fetch` cannot. */
function transfer<T>(
  address: string,
  body: Blob,
  headers: Record<string, string>,
  { signal, onprogress }: Sending,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const sent = new XMLHttpRequest();
    const cancel = () => sent.abort();
    const done = (work: () => void) => {
      signal?.removeEventListener("abort", cancel);
      work();
    };
    sent.open("PUT", address);
    for (const [name, value] of Object.entries({ "Content-Type": "application/octet-stream", ...headers }))
      sent.setRequestHeader(name, value);
    sent.upload.onprogress = (event) => onprogress?.(event.loaded);
    sent.onload = () =>
      done(() => (sent.status < 300 ? resolve(JSON.parse(sent.responseText) as T) : reject(problemOf(sent))));
    sent.onerror = () =>
      done(() =>
        reject(new Error("The connection was lost while the file was sent. Nothing was stored; send it again.")),
      );
    sent.onabort = () =>
      done(() => reject(signal?.reason ?? new Error("The upload was cancelled. Nothing was stored.")));
    signal?.addEventListener("abort", cancel);
    sent.send(body);
  });
}

function problemOf(sent: XMLHttpRequest): ApiError {
  try {
    const problem = JSON.parse(sent.responseText) as Record<string, unknown>;
    return new ApiError(
      sent.status,
      String(problem["detail"] ?? problem["title"] ?? ""),
      String(problem["type"] ?? ""),
      problem,
    );
  } catch {
    return new ApiError(sent.status, `The server answered ${sent.status}.`);
  }
}

async function orConflict<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof ApiError && error.status === 412 ? new ConflictError(error.message) : error;
  }
}
