// Every key that does something, in one table. Handlers, buttons and the help all read it, so none of them can say anything else.

export type Place = "Everywhere" | "Writing a message" | "Answering a question";

export interface Binding {
  /** "Ctrl" is Command on a Mac. */
  keys: string;
  does: string;
  place: Place;
}

const everywhere = (keys: string, does: string): Binding => ({ keys, does, place: "Everywhere" });
const writing = (keys: string, does: string): Binding => ({ keys, does, place: "Writing a message" });
const answering = (keys: string, does: string): Binding => ({ keys, does, place: "Answering a question" });

export const KEYS = {
  new: everywhere("Ctrl+Shift+O", "New conversation"),
  palette: everywhere("Ctrl+K", "Search commands and conversations"),
  write: everywhere("/", "Write a message"),
  details: everywhere("Ctrl+Shift+D", "Show or hide details"),
  theme: everywhere("Ctrl+Shift+L", "Change the theme (system, light, dark)"),
  help: everywhere("?", "Keyboard shortcuts"),
  send: writing("Enter", "Send; while an agent works, steer it (in research: stop it and send)"),
  queue: writing("Alt+Enter", "Send after the run that works"),
  stopAndSend: writing("Ctrl+Enter", "Stop the run and send"),
  newLine: writing("Shift+Enter", "New line"),
  stop: writing("Esc", "Stop the run"),
  // Combinations that never type a character: they work while the answer is being written.
  answer: answering("Ctrl+Enter", "Approve or answer (the filled button)"),
  edit: answering("Alt+E", "Edit before approving"),
  reject: answering("Alt+R", "Reject"),
  leave: answering("Esc", "Leave the editor or the rejection"),
  next: answering("Alt+N", "Next question"),
  previous: answering("Alt+P", "Previous question"),
} satisfies Record<string, Binding>;

export type Shortcut = keyof typeof KEYS;

/** Whether a key press is that combination. */
export function matches(event: KeyboardEvent, keys: string): boolean {
  const parts = keys.split("+");
  const key = parts.at(-1)!;
  if (parts.includes("Ctrl") !== (event.ctrlKey || event.metaKey) || parts.includes("Alt") !== event.altKey)
    return false;
  // "?" needs Shift on most keyboards, and another key elsewhere: only the sign counts.
  if (key.length > 1 || /[a-z0-9]/i.test(key)) if (parts.includes("Shift") !== event.shiftKey) return false;
  const pressed = event.key === "Escape" ? "Esc" : event.key;
  // With Option, a Mac gives the sign that would be typed ("´" for E): there the key's place counts.
  return pressed.toLowerCase() === key.toLowerCase() || (event.altKey && event.code === `Key${key}`);
}

/** Which shortcut of a place a key press is. */
export function shortcutOf(event: KeyboardEvent, place: Place): Shortcut | null {
  const found = Object.entries(KEYS).find(([, each]) => each.place === place && matches(event, each.keys));
  return (found?.[0] as Shortcut | undefined) ?? null;
}

const MAC: Record<string, string> = { Ctrl: "⌘", Alt: "⌥", Shift: "⇧", Enter: "↩" };
export const isMac = /Mac|iPhone|iPad/.test(globalThis.navigator?.userAgent ?? "");

/** As the keyboard of this device names it: "Ctrl+Enter", or "⌘↩". */
export function keyWords(keys: string, mac = isMac): string {
  return mac
    ? keys
        .split("+")
        .map((part) => MAC[part] ?? part)
        .join("")
    : keys;
}

/** Single keys must not fire while the user writes. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
