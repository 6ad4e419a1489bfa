// What the command palette and the keyboard can do. One list, so that the help is always true.

export interface Command {
  id: string;
  label: string;
  /** As shown: "Ctrl+K". On a Mac the Command key does the same. */
  keys?: string;
  run: () => void;
}

/** Whether a key press is that combination. `Mod` is Ctrl, or Command on a Mac. */
export function matches(event: KeyboardEvent, keys: string): boolean {
  const parts = keys.split("+");
  const key = parts.at(-1)!;
  const mod = event.ctrlKey || event.metaKey;
  if (parts.includes("Ctrl") !== mod || parts.includes("Alt") !== event.altKey) return false;
  // "?" needs Shift on most keyboards, and another key elsewhere: only the sign counts.
  if (key.length > 1 || /[a-z0-9]/i.test(key)) if (parts.includes("Shift") !== event.shiftKey) return false;
  return event.key.toLowerCase() === key.toLowerCase();
}

/** Single keys must not fire while somebody writes. */
export function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
