// Server-sent events over fetch, because EventSource can neither POST nor begin at a place of our choice.
//
//   open -> events -> cut off -> wait (1, 2, 4 ... 15 s, at once when the network is back) -> open with Last-Event-ID -> ...
//
// A stream ends when `isLast` says so, when it is aborted, or when the server refuses it (4xx). Silence for SILENT_MS counts as cut off:
// the server sends a comment every five seconds.

import { ApiError, send, type RequestInitJson } from "./request";

export interface Frame {
  /** The `id:` field; "" if there was none. */
  readonly id: string;
  readonly event: string;
  /** Parsed JSON, or the text itself where it is not JSON. */
  readonly data: unknown;
}

export interface StreamOptions extends RequestInitJson {
  /** Begin after this event. "-1": from the start. */
  lastEventId?: string;
  /** Whether this frame ends the stream. Without it the stream goes on until it is aborted. */
  isLast?: (frame: Frame) => boolean;
  /** Come back when cut off. Off for a POST that must not be sent twice. */
  reconnect?: boolean;
  onState?: (state: "open" | "cut") => void;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;
const SILENT_MS = 12_000;

/** Follow a stream. Resolves at its end or when aborted; rejects when the server refuses it, or at the first cut without `reconnect`. */
export async function stream(path: string, options: StreamOptions, onFrames: (frames: Frame[]) => void): Promise<void> {
  const { lastEventId, isLast, reconnect = true, onState, ...init } = options;
  let place = lastEventId ?? "";
  let failures = 0;
  while (!init.signal?.aborted) {
    try {
      const ended = await readOnce(
        path,
        init,
        place,
        (frames) => {
          failures = 0;
          for (const frame of frames) if (frame.id) place = frame.id;
          onFrames(frames);
          return isLast ? frames.some(isLast) : false;
        },
        () => onState?.("open"),
      );
      if (ended) return;
      if (!reconnect) throw new Error("The stream was cut off before its end.");
    } catch (error) {
      if (init.signal?.aborted) return;
      if (error instanceof ApiError && error.status < 500 && error.status !== 429 && error.status !== 408) throw error;
      if (!reconnect) throw error;
    }
    onState?.("cut");
    await waitBefore(failures++, init.signal ?? null);
  }
}

async function readOnce(
  path: string,
  init: RequestInitJson,
  place: string,
  take: (frames: Frame[]) => boolean,
  opened: () => void,
): Promise<boolean> {
  const headers = new Headers(init.headers);
  headers.set("Accept", "text/event-stream");
  if (place) headers.set("Last-Event-ID", place);
  const quiet = new AbortController();
  const signal = init.signal ? AbortSignal.any([init.signal, quiet.signal]) : quiet.signal;
  let watchdog = setTimeout(() => quiet.abort(), SILENT_MS);
  try {
    const response = await send(path, { ...init, headers, signal, timeoutMs: 0 });
    opened();
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new FrameParser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      clearTimeout(watchdog);
      watchdog = setTimeout(() => quiet.abort(), SILENT_MS);
      const frames = parser.push(value);
      if (frames.length && take(frames)) {
        await reader.cancel();
        return true;
      }
    }
  } finally {
    clearTimeout(watchdog);
  }
}

/** Pieces of text in, whole frames out. */
export class FrameParser {
  private rest = "";
  private scanned = 0;

  push(piece: string): Frame[] {
    this.rest += piece;
    const frames: Frame[] = [];
    for (;;) {
      // A blank line may arrive cut in two: look a little back, but never again at what was looked at.
      const end = findBlankLine(this.rest, Math.max(0, this.scanned - 3));
      if (end === null) {
        this.scanned = this.rest.length;
        return frames;
      }
      const frame = parseFrame(this.rest.slice(0, end.at));
      this.rest = this.rest.slice(end.at + end.length);
      this.scanned = 0;
      if (frame) frames.push(frame);
    }
  }
}

function findBlankLine(text: string, from: number): { at: number; length: number } | null {
  const plain = text.indexOf("\n\n", from);
  const dos = text.indexOf("\r\n\r\n", from);
  if (plain === -1 && dos === -1) return null;
  if (dos !== -1 && (plain === -1 || dos < plain)) return { at: dos, length: 4 };
  return { at: plain, length: 2 };
}

function parseFrame(block: string): Frame | null {
  let id = "";
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line === "" || line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  return data.length || id ? { id, event, data: parseData(data.join("\n")) } : null;
}

function parseData(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    // Kept as text: the page shows what it does not understand rather than losing it.
    return text;
  }
}

const waiting = new Set<() => void>();

/** Streams that wait before coming back do so now: the network is there again, or the server answers. */
export function comeBackNow(): void {
  for (const finish of [...waiting]) finish();
}

/** Longer after each failure; cut short by `comeBackNow`. */
function waitBefore(failures: number, signal: AbortSignal | null): Promise<void> {
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.8 + Math.random() * 0.4);
  return new Promise((resolve) => {
    const timer = setTimeout(finish, failures === 0 ? wait / 4 : wait);
    function finish() {
      clearTimeout(timer);
      waiting.delete(finish);
      signal?.removeEventListener("abort", finish);
      resolve();
    }
    waiting.add(finish);
    signal?.addEventListener("abort", finish);
  });
}
