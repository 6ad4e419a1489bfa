// Keeps the page's shell, so that it opens without a network: projects and knowledge on the device can then be read and edited.
//
//   an address of the page       the network, for a short time; then the shell that was kept
//   /assets/..., /page/...       what was kept; else the network (a name in /assets/ holds its content's hash, so it never goes stale)
//   everything else              not touched: no response of the API is ever kept
//
// Each build has a cache of its own, filled before the build is ready and dropped when the next one takes over. It takes over when no
// page of the build before is open any more: a page that is open finds its parts until then. As a page comes from the network first,
// nobody reads an old one for longer than they are offline.

/** Set while the page is built: see `offlineShell` in vite.config.ts. */
declare const __SHELL__: { build: string; files: string[] };

interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface RequestEvent extends WorkerEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
interface Scope {
  readonly location: Location;
  readonly clients: { matchAll(options: object): Promise<unknown[]>; claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(
    type: "install" | "activate" | "message",
    listener: (event: WorkerEvent & { data?: unknown }) => void,
  ): void;
  addEventListener(type: "fetch", listener: (event: RequestEvent) => void): void;
}

const scope = self as unknown as Scope;
const shell = __SHELL__;
const PREFIX = "stepwell-shell-";
const CACHE = `${PREFIX}${shell.build}`;
const NETWORK_MS = 3_000;
/** As in server/page/serving.py: where the page finds its own way. */
const ADDRESS = /^\/(?:$|inbox$|operator$|sign-in$|t\/|new\/)/;
const PART = /^\/(?:assets|page)\//;

scope.addEventListener("install", (event) => event.waitUntil(fill()));
scope.addEventListener("activate", (event) => event.waitUntil(dropOlder().then(() => scope.clients.claim())));
scope.addEventListener("message", (event) => {
  if (event.data === "take over") event.waitUntil(takeOver());
});
scope.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  if (request.method !== "GET" || address.origin !== scope.location.origin) return;
  if (request.mode === "navigate" && ADDRESS.test(address.pathname)) event.respondWith(openPage(request));
  else if (PART.test(address.pathname)) event.respondWith(findPart(request, address.pathname));
});

async function fill(): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.addAll(shell.files);
  // The server gives the page only to whoever asks for HTML; a request of a program gets a description.
  const page = await fetch("/", { headers: { accept: "text/html" }, cache: "no-store" });
  if (!page.ok) throw new Error(`The page cannot be kept: the server answered ${page.status}.`);
  await cache.put("/", page);
}

async function dropOlder(): Promise<void> {
  const names = await caches.keys();
  await Promise.all(
    names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)),
  );
}

/** Only for a page that is alone: others may still need the parts of their own build. */
async function takeOver(): Promise<void> {
  const open = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (open.length <= 1) await scope.skipWaiting();
}

async function openPage(request: Request): Promise<Response> {
  const kept = await caches.open(CACHE).then((cache) => cache.match("/"));
  if (!kept) return fetch(request);
  const late = new Promise<Response>((resolve) => setTimeout(() => resolve(kept), NETWORK_MS));
  // A 5xx may come from a proxy whose server is gone.
  const network = fetch(request).then(
    (response) => (response.status < 500 ? response : kept),
    () => kept,
  );
  return Promise.race([network, late]);
}

async function findPart(request: Request, path: string): Promise<Response> {
  const cache = await caches.open(CACHE);
  const known = await cache.match(path);
  if (known) return known;
  const response = await fetch(request);
  // A large part (a model's code, a reader of PDF) is kept once it was needed.
  if (response.ok && response.status === 200 && path.startsWith("/assets/")) await cache.put(path, response.clone());
  return response;
}
