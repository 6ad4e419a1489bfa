// Starts the service worker when the page has settled, so that it costs a first visit nothing.

const SCRIPT = "/service-worker.js";
const SETTLED_MS = 2_000;

export function keepShell(): void {
  if (!("serviceWorker" in navigator) || !import.meta.env.PROD) return;
  setTimeout(() => {
    navigator.serviceWorker.register(SCRIPT, { scope: "/", updateViaCache: "none" }).then(
      // Undefined where a tool blocks service workers. This page came from the network, so it is of the newest build: one that waits may take over if no other page is open.
      (registration?: ServiceWorkerRegistration) => registration?.waiting?.postMessage("take over"),
      // No worker here (switched off, a private window): the page works, but only with a network.
      (error: unknown) => console.warn("The page cannot be kept for use without a network:", error),
    );
  }, SETTLED_MS);
}
