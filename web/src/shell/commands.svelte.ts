// What the command palette and the keyboard can do. Those with a key take key and words from the table of keys (`lib/keys.ts`).

import { isWriting, KEYS, matches, type Shortcut } from "../lib/keys";
import { router } from "../lib/router.svelte";
import { openModels, openSettings } from "../lib/settings-place.svelte";
import { theme } from "../lib/theme.svelte";
import { server } from "../state/server.svelte";
import { openDialog } from "../ui/open-dialogs.svelte";
import { toasts } from "../ui/toasts.svelte";
import { conversation } from "./conversation.svelte";
import { SIDEBAR_DIALOGS } from "./dialogs";
import { layout } from "./layout.svelte";

export interface Command {
  id: string;
  label: string;
  keys?: string;
  run: () => void;
}

const withKeys = (id: Shortcut, run: () => void): Command => ({ id, label: KEYS[id].does, keys: KEYS[id].keys, run });

/** As things stand: what cannot be done now is not in it. */
export function commands(): Command[] {
  const { session, chat, welcome } = conversation;
  return [
    withKeys("new", () => conversation.startNew()),
    withKeys("palette", () => openDialog("palette")),
    { id: "inbox", label: "Questions waiting for you", run: () => router.go("/inbox") },
    ...(session?.view.waiting.length
      ? [{ id: "waits", label: "Answer the question", run: () => void chat?.focusWaiting() }]
      : []),
    withKeys("write", () => (chat ?? welcome)?.focus()),
    ...(session ? [withKeys("details", () => layout.toggleDetails(conversation.tabs))] : []),
    ...(session ? [{ id: "stop", label: "Stop the run", run: () => chat?.stop() }] : []),
    { id: "model", label: "Connect a model", run: openModels },
    { id: "settings", label: "Settings", run: () => openSettings() },
    { id: "device", label: "What this browser keeps", run: () => openSettings("device") },
    ...SIDEBAR_DIALOGS.filter((each) => each.shown?.() ?? true).map(({ id, label }) => ({
      id,
      label,
      run: () => openDialog(id),
    })),
    withKeys("theme", () => toasts.show(`Theme: ${theme.turn()}.`)),
    ...(server.me?.is_operator
      ? [{ id: "operator", label: "Operator: keys, usage, health", run: () => router.go("/operator") }]
      : []),
    withKeys("help", () => openDialog("shortcuts")),
  ];
}

/** Nothing is open and nothing is written in that Esc would belong to. */
function isAtRest(target: EventTarget | null): boolean {
  const elsewhere = target instanceof Element && target.closest("section, aside, nav");
  return !elsewhere && !isWriting(target) && !document.querySelector("dialog[open], :popover-open");
}

/** A key that was pressed anywhere on the page. */
export function pressKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const { session, chat } = conversation;
  if (matches(event, KEYS.stop.keys) && session?.working && isAtRest(event.target)) return chat?.stop();
  const command = commands().find((each) => each.keys && matches(event, each.keys));
  const isSingleKey = command && !command.keys!.includes("+");
  if (!command || (isSingleKey && (isWriting(event.target) || document.querySelector("dialog[open]")))) return;
  event.preventDefault();
  command.run();
}
