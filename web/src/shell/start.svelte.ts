// What begins with the page and goes on as long as it is open. Called once each, while `App.svelte` is set up.

import { untrack } from "svelte";
import { clientTools } from "../device/client-tools.svelte";
import { startKnowledge } from "../knowledge/summary.svelte";
import { pathOf, router } from "../lib/router.svelte";
import { projectStatus } from "../project/status.svelte";
import { inbox } from "../state/inbox.svelte";
import { server } from "../state/server.svelte";
import { threads } from "../threads/list.svelte";
import { openDialog } from "../ui/open-dialogs.svelte";
import { wallet } from "../wallet/wallet.svelte";
import { conversation } from "./conversation.svelte";

const LONGEST_WAIT_MS = 1_000;

/** Asks the server who is there and what it has, and wakes the parts of the page that need to know. Again after signing in, or a failure. */
export async function start(): Promise<void> {
  await server.load();
  if (server.signedOut) return;
  // A device that cannot be opened is said where somebody asks for it: in the dialogs.
  projectStatus
    .start()
    .catch((error: unknown) => console.warn("What this device keeps cannot be looked at yet:", error));
  if (server.problem) return;
  void wallet.load(() => openDialog("wallet")); // first, because what things cost stands below the questions
  // The conversation comes before the rest: a browser opens only a few connections to one server.
  await Promise.race([conversation.opening, new Promise((resolve) => setTimeout(resolve, LONGEST_WAIT_MS))]);
  void server.lookAtGraphs();
  void threads.load();
  startKnowledge().catch((error: unknown) => console.warn("What is kept on this device cannot be used:", error));
  inbox.watch((id) => router.go(pathOf.thread(id)));
  void clientTools.start();
}

/** The effects that tie the parts together: each says what follows from what. */
export function keepInStep(): void {
  // address -> open conversation
  $effect(() => {
    const threadId = router.route.name === "thread" ? router.route.threadId : null;
    if (server.ready || (server.me && !server.signedOut)) untrack(() => conversation.show(threadId));
  });
  // open conversation -> title of the window
  $effect(() => {
    document.title = conversation.title ? `${conversation.title} · Stepwell` : "Stepwell";
  });
  // open conversation -> its place in the list and its questions, without waiting for the next look at both
  $effect(() => {
    if (conversation.moment) untrack(() => threads.loaded && (void threads.load(), void inbox.look()));
  });
  // questions, here and elsewhere -> what this device carries out
  $effect(() => clientTools.consider(conversation.view, inbox.entries));
  // the server is back -> what could not be loaded meanwhile
  const isOnline = $derived(server.connection === "online");
  $effect(() => {
    if (!isOnline) return;
    untrack(() => {
      if (server.ready && server.problem) void start();
      else if (conversation.session?.status === "failed") conversation.session.retry();
    });
  });
}
