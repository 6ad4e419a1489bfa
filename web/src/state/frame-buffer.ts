// Collects what arrives and hands it on once per animation frame, so that a thousand events a second cost sixty renders, not a thousand.
// A hidden tab has no frames: there, or when it becomes hidden meanwhile, a timer does it.

const HIDDEN_MS = 250;

export class FrameBuffer<T> {
  private items: T[] = [];
  private cancel: (() => void) | null = null;

  constructor(private readonly flush: (items: T[]) => void) {}

  add(items: readonly T[]): void {
    for (const item of items) this.items.push(item);
    if (!this.items.length || this.cancel) return;
    const run = () => {
      this.cancel?.();
      this.cancel = null;
      const ready = this.items;
      this.items = [];
      this.flush(ready);
    };
    const frame = document.hidden ? 0 : requestAnimationFrame(run);
    const timer = setTimeout(run, HIDDEN_MS);
    this.cancel = () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }

  stop(): void {
    this.cancel?.();
    this.cancel = null;
    this.items = [];
  }
}
