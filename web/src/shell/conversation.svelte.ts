// The conversation on the screen: the session of the thread in the address, how it follows that address, and how a new one begins.

import { tick, untrack } from "svelte";
import { api } from "../api";
import { draftName, keep, kept, NEXT_MODE } from "../lib/kept";
import { pathOf, router } from "../lib/router.svelte";
import { titleFrom } from "../lib/words";
import { connected } from "../models/connected.svelte";
import { tabsOf } from "../panels/tabs";
import { server } from "../state/server.svelte";
import { createThread, ThreadSession } from "../state/session.svelte";
import type { Assistant, Picture } from "../state/types";
import { threads } from "../threads/list.svelte";
import { toasts } from "../ui/toasts.svelte";

const SLEEP_AFTER_MS = 60_000;

/** What the page does with the component that shows a conversation (`chat/Chat.svelte`). */
interface ChatHandle {
  focus(): void;
  focusWaiting(): Promise<void>;
  takeBack(words: string, pictures: readonly Picture[]): void;
  stop(): void;
}

/** And with the one that is there before the first message (`chat/Welcome.svelte`). */
interface WelcomeHandle {
  focus(): void;
  takeBack(words: string, pictures: readonly Picture[]): boolean;
}

class Conversation {
  session = $state.raw<ThreadSession | null>(null);
  chat = $state.raw<ChatHandle>();
  welcome = $state.raw<WelcomeHandle>();
  /** Until the thread in the address can be shown. */
  opening: Promise<void> | undefined;
  private sleepTimer: ReturnType<typeof setTimeout> | undefined;

  readonly view = $derived(this.session?.status === "ready" ? this.session.view : null);
  readonly title = $derived.by(() => {
    if (!this.session) return "";
    const { threadId, view } = this.session;
    return threads.all.find((thread) => thread.threadId === threadId)?.title ?? view.title;
  });
  /** What its details consist of. */
  readonly tabs = $derived(this.view ? tabsOf(this.view) : []);
  /** Changes when the open thread begins or ends something. */
  readonly moment = $derived(this.view ? `${this.view.threadId} ${this.view.phase}` : "");
  private readonly runs = $derived(`${this.moment} ${this.session?.view.runs.length ?? 0}`);
  /** The view as it was when a run began or ended last: for what need not look at every frame. */
  readonly viewOfMoment = $derived.by(() => {
    void this.runs;
    return untrack(() => this.view);
  });
  /** Who a new conversation would be with. */
  readonly assistant = $derived.by(() => {
    const asked = router.route.name === "new" ? router.route.graphId : null;
    const all = server.assistants;
    return all.find((each) => each.graphId === asked) ?? all.find((each) => !each.demo) ?? all[0];
  });

  /** One session for the thread in the address. Leaving a thread closes its stream; nothing of it can reach the next one. */
  show(threadId: string | null): void {
    if ((this.session?.threadId ?? null) === threadId) return;
    this.session?.close();
    this.session = threadId ? new ThreadSession(threadId) : null;
    this.opening = this.session?.open();
  }

  /** The page came into sight, or is hidden: then its session may sleep after a while. */
  seen(): void {
    clearTimeout(this.sleepTimer);
    if (document.hidden) this.sleepTimer = setTimeout(() => this.session?.sleep(), SLEEP_AFTER_MS);
    else this.session?.wake();
  }

  startNew(): void {
    router.go("/");
    void tick().then(() => this.welcome?.focus());
  }

  /** A thread for a first message, shown at once. */
  async begin(
    text: string,
    to: Assistant,
    input: Record<string, unknown> = {},
    pictures: readonly Picture[] = [],
  ): Promise<void> {
    const from = location.pathname;
    try {
      const models = connected.next;
      const mode = server.runModes[to.graphId]?.length ? kept(NEXT_MODE) : null;
      const id = await createThread(to, {
        ...(models && { stepwell_models: models }),
        ...(mode && { stepwell_mode: mode }),
      });
      connected.forgetNext();
      if (mode) keep(NEXT_MODE, null);
      this.session?.close();
      const next = new ThreadSession(id);
      next.models = models;
      next.mode = mode;
      next.openNew(to, titleFrom(text));
      this.session = next;
      router.go(pathOf.thread(id));
      const keepUnsent = () => keep(draftName(id, server.owner), text);
      window.addEventListener("pagehide", keepUnsent);
      next
        .send(text, to.assistantId, "enqueue", input, pictures)
        .catch((error: unknown) => {
          toasts.fail(error);
          return this.takeBack(id, text, from, pictures);
        })
        .finally(() => window.removeEventListener("pagehide", keepUnsent));
      await tick();
      this.chat?.focus();
    } catch (error) {
      toasts.fail(error);
      throw error;
    }
  }

  /** A conversation whose first message was refused is not left behind: its words go back to where they were written. */
  private async takeBack(id: string, text: string, from: string, pictures: readonly Picture[]): Promise<void> {
    const isEmpty = await api.listRuns(id, 1).then(
      (runs) => !runs.length,
      () => false,
    );
    const isShown = this.session?.threadId === id;
    if (isEmpty && isShown) router.go(from, { replace: true });
    await tick();
    const place = isEmpty ? "new" : id;
    if (isShown && !isEmpty) this.chat?.takeBack(text, pictures);
    else if (!isEmpty || !this.welcome?.takeBack(text, pictures)) {
      const name = draftName(place, server.owner);
      keep(name, [text, kept(name)].filter(Boolean).join("\n\n"));
    }
    if (!isEmpty) return;
    void server.lookAtGraphs();
    await api.deleteThread(id).catch((error: unknown) => console.warn("An empty conversation stays:", error));
    void threads.load();
  }
}

export const conversation = new Conversation();
