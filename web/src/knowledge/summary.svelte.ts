// What the rest of the page knows of the knowledge without loading it: how much there is, what the dialog is to show, what went along with
// which question. Small, because a first visit loads it; everything else is fetched when it is needed.

import { openDialog } from "../ui/open-dialogs.svelte";

/** A place in a document of this device. */
export interface Place {
  readonly document_id: string;
  readonly start: number;
  readonly end: number;
}

export interface Excerpt extends Place {
  readonly id: string;
  /** The document's name. */
  readonly label: string;
  /** Where in it: "page 3", "sheet Sales, A5:F9". What went before places were kept has it in its label. */
  readonly place?: string;
  readonly text: string;
}

/** "report.pdf, page 12". */
export const nameWithPlace = ({ label, place }: Pick<Excerpt, "label" | "place">): string =>
  place ? `${label}, ${place}` : label;

/** What left with a question. */
export interface SentExcerpts {
  readonly question: string;
  readonly at: string;
  readonly excerpts: readonly Excerpt[];
  readonly addresses: readonly { readonly document_id: string; readonly label: string; readonly url: string }[];
  /** The answer was to come from the documents alone. */
  readonly only?: boolean;
}

/** Files, folders and words that somebody dropped or chose. */
export interface Dropped {
  readonly entries: readonly FileSystemEntry[];
  readonly files: readonly File[];
  readonly text: string;
}

class Summary {
  documents = $state(0);
  /** Where the dialog opens, if somebody came for a passage. */
  place = $state.raw<Place | null>(null);
  /** What waits to be added. */
  dropped = $state.raw<Dropped | null>(null);
  sent = $state.raw<Readonly<Record<string, readonly SentExcerpts[]>>>({});
  private readonly asked = new Set<string>();

  /** Loads, once, what went along in a thread. */
  lookUp(threadId: string): void {
    if (!this.documents || this.asked.has(threadId)) return;
    this.asked.add(threadId);
    void import("./attached-excerpts.svelte").then(({ loadSentExcerpts }) => loadSentExcerpts(threadId));
  }

  sentWith(threadId: string, question: string): SentExcerpts | undefined {
    return this.sent[threadId]?.findLast((each) => each.question === question.trim());
  }
}

export const summary = new Summary();

/** Graphs that take excerpts of a device as evidence. */
export const takesExcerpts = (graphId: string | null | undefined): boolean =>
  graphId === "research" || graphId === "research_demo";

export function openPlace(place: Place): void {
  summary.place = place;
  openDialog("knowledge");
}

/** Counts what is kept, and lets excerpts go along with questions, from now on. */
export async function startKnowledge(): Promise<void> {
  const { start } = await import("./attached-excerpts.svelte");
  await start();
}
