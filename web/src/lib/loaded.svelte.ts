/** Something that is fetched: loading, there, or failed with a way to try again. An answer that was overtaken by a newer one is dropped. */

export class Loaded<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<unknown>(null);
  loading = $state(false);
  private turn = 0;

  constructor(private readonly fetchIt: () => Promise<T>) {}

  /** What is there stays until the new answer comes, so that a refresh does not flicker. */
  async load(): Promise<void> {
    const mine = ++this.turn;
    this.loading = true;
    try {
      const value = await this.fetchIt();
      if (mine !== this.turn) return;
      [this.value, this.error] = [value, null];
    } catch (error) {
      if (mine === this.turn) this.error = error;
    } finally {
      if (mine === this.turn) this.loading = false;
    }
  }
}
