// Starts the service worker when the page has settled, so that it costs a first visit nothing.

const SCRIPT = "/service-worker.js";
const SETTLED_MS = 2_000;

export function keepShell(): void {
  if (!("serviceWorker" in navigator) || !import.meta.env.PROD) return;
  setTimeout(() => {
    navigator.serviceWorker.register(SCRIPT, { scope: "/", updateViaCache: "none" }).then(
      // Undefined where a browser's tools block service workers without saying so.
      (registration?: ServiceWorkerRegistration) => registration && offerPlace(registration),
      // No worker here (switched off, a private window): the page works, but only with a network.
      (error: unknown) => console.warn("The page cannot be kept for use without a network:", error),
    );
  }, SETTLED_MS);
}

/** This page came from the network, so it is of the newest build: a worker of that build may take over, if no other page is open. */
function offerPlace(registration: ServiceWorkerRegistration): void {
  const offer = (worker: ServiceWorker | null) => worker?.state === "installed" && worker.postMessage("take over");
  const follow = (worker: ServiceWorker | null) => worker?.addEventListener("statechange", () => offer(worker));
  offer(registration.waiting);
  follow(registration.installing);
  registration.addEventListener("updatefound", () => follow(registration.installing));
}
