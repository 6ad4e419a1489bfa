// One request, one kind of error. The server explains refusals as RFC 9457 problems; their `detail` is a sentence for people.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** The problem's `type`, such as "urn:stepwell:problem:answer-shape"; "" if there was none. */
    readonly type: string = "",
    readonly problem: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Nothing answered at all: no network, or no server. */
export class UnreachableError extends Error {
  constructor() {
    super("The server does not answer. Nothing is lost: the page tries again by itself.");
    this.name = "UnreachableError";
  }
}

/** Whether a request may have been carried out all the same: it can be sent again with the same key, and not without one. */
export function isUncertain(error: unknown): boolean {
  return (
    error instanceof UnreachableError ||
    (error instanceof ApiError && error.type === "urn:stepwell:problem:outcome-unknown")
  );
}

export interface RequestInitJson extends Omit<RequestInit, "body"> {
  /** Sent as JSON. */
  json?: unknown;
  body?: BodyInit | null;
  timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
const MAX_DETAIL = 2_000;

type Outcome = { answered: true; status: number } | { answered: false };
type Listener = (outcome: Outcome) => void;
const listeners = new Set<Listener>();

/** Tells how requests end: for the connection banner, and for a session that is over. Gives back how to stop listening. */
export function onAnswered(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export async function send(path: string, init: RequestInitJson = {}): Promise<Response> {
  const { json, timeoutMs = TIMEOUT_MS, ...rest } = init;
  const headers = new Headers(init.headers);
  if (!headers.has("Accept")) headers.set("Accept", "application/json");
  if (json !== undefined) headers.set("Content-Type", "application/json");
  const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : null;
  const signals = [init.signal, limit].filter((signal): signal is AbortSignal => signal != null);
  let response: Response;
  try {
    response = await fetch(path, {
      ...rest,
      headers,
      body: json === undefined ? rest.body : JSON.stringify(json),
      signal: signals.length ? AbortSignal.any(signals) : undefined,
      credentials: "same-origin",
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    for (const listener of listeners) listener({ answered: false });
    throw new UnreachableError();
  }
  for (const listener of listeners) listener({ answered: true, status: response.status });
  if (!response.ok) throw await readProblem(response);
  return response;
}

/** The answer's JSON. Throws `ApiError` with the problem's sentence, or `UnreachableError`. */
export async function request<T>(path: string, init: RequestInitJson = {}): Promise<T> {
  const response = await send(path, init);
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

async function readProblem(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  let problem: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (parsed && typeof parsed === "object") problem = parsed as Record<string, unknown>;
  } catch {
    // Not a problem document (a proxy's page, say): the status has to do.
    problem = {};
  }
  const detail = problem["detail"] ?? problem["title"] ?? problem["message"];
  const sentence =
    typeof detail === "string" && detail ? detail.slice(0, MAX_DETAIL) : `The server answered ${response.status}.`;
  const type = typeof problem["type"] === "string" ? problem["type"] : "";
  return new ApiError(response.status, sentence, type, problem);
}
