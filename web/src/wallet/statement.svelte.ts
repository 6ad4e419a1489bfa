// The lines of the ledger about one session, read from where the last look ended.

import { HISTORY_PAGE, money, type Entry } from "./api";
import { sumsOf } from "./words";

export class Statement {
  entries = $state.raw<readonly Entry[]>([]);
  error = $state.raw<unknown>(null);
  loaded = $state(false);
  private reading: Promise<void> | null = null;
  private again = false;

  constructor(readonly fundingId: string) {}

  get sums() {
    return sumsOf(this.entries);
  }

  /** What is new. Asked for while a look is under way, there is one more after it. */
  load(): Promise<void> {
    this.again = this.reading !== null;
    this.reading ??= this.read().finally(() => {
      this.reading = null;
      if (this.again) void this.load();
    });
    return this.reading;
  }

  private async read(): Promise<void> {
    try {
      for (let full = true; full;) {
        const page = await money.history(this.fundingId, this.entries.at(-1)?.seq ?? 0);
        if (page.length) this.entries = [...this.entries, ...page];
        full = page.length === HISTORY_PAGE;
      }
      [this.loaded, this.error] = [true, null];
    } catch (error) {
      this.error = error;
    }
  }
}
