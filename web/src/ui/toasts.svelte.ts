// Short notices at the bottom of the page. An action ("Undo") can be part of one; what cannot be missed does not belong here.

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: "plain" | "bad";
  readonly action: { label: string; run: () => void } | null;
}

const SHOWN_MS = 6_000;
let next = 1;

class Toasts {
  list = $state<Toast[]>([]);
  private timers = new Map<number, ReturnType<typeof setTimeout>>();

  show(text: string, options: { kind?: Toast["kind"]; action?: Toast["action"]; ms?: number } = {}): number {
    const toast: Toast = { id: next++, text, kind: options.kind ?? "plain", action: options.action ?? null };
    this.list = [...this.list, toast].slice(-4);
    this.timers.set(toast.id, setTimeout(() => this.close(toast.id), options.ms ?? SHOWN_MS));
    return toast.id;
  }

  /** An error's message, as it is: messages here are written for people. */
  fail(error: unknown): void {
    this.show(error instanceof Error ? error.message : String(error), { kind: "bad", ms: 10_000 });
  }

  close(id: number): void {
    clearTimeout(this.timers.get(id));
    this.timers.delete(id);
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
