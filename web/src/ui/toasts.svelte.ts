// A short notice at the bottom of the page, one at a time: a new one takes the place of the last. An action ("Undo") can be part of it; what
// must not be missed, and what the page shows anyway, does not belong here.

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: "plain" | "bad";
  readonly action: { label: string; run: () => void } | null;
}

const SHOWN_MS = 6_000;
let next = 1;

class Toasts {
  current = $state.raw<Toast | null>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;

  show(text: string, options: { kind?: Toast["kind"]; action?: Toast["action"]; ms?: number } = {}): number {
    const toast: Toast = { id: next++, text, kind: options.kind ?? "plain", action: options.action ?? null };
    clearTimeout(this.timer);
    this.current = toast;
    this.timer = setTimeout(() => this.close(toast.id), options.ms ?? SHOWN_MS);
    return toast.id;
  }

  /** An error's message, as it is: messages here are written for people. */
  fail(error: unknown): void {
    this.show(error instanceof Error ? error.message : String(error), { kind: "bad", ms: 10_000 });
  }

  close(id: number): void {
    if (this.current?.id === id) this.current = null;
  }
}

export const toasts = new Toasts();
