/** What draws Markdown: fetched beside the entry of the page, which stays small, and there before the first answer is. */

import type Markdown from "../text/Markdown.svelte";

class Drawing {
  Markdown = $state.raw<typeof Markdown | null>(null);

  constructor() {
    import("../text/Markdown.svelte").then(
      (loaded) => (this.Markdown = loaded.default),
      (error: unknown) => console.error("Answers cannot be drawn. Load the page again:", error),
    );
  }
}

export const drawing = new Drawing();
