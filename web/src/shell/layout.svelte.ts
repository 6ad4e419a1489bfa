import { opensByItself } from "../panels/tabs";
import type { Tab } from "../ui/Tabs.svelte";

// How much room the page has, and which of its drawers are open. Below 1100 px the details are a drawer, below 720 px the list is one too.

class Layout {
  /** The details have no column of their own. */
  slim = $state(false);
  /** Neither has the list of conversations. */
  narrow = $state(false);
  listOpen = $state(false);
  /** The drawer of the details. */
  panelOpen = $state(false);
  /** Whether the column of the details is wanted; null: by need. */
  private panelWanted = $state<boolean | null>(null);

  showsPanel(tabs: readonly Tab[]): boolean {
    return !this.slim && tabs.length > 0 && (this.panelWanted ?? opensByItself(tabs));
  }
  toggleDetails(tabs: readonly Tab[]): void {
    if (this.slim) this.panelOpen = !this.panelOpen;
    else this.panelWanted = !this.showsPanel(tabs);
  }

  /** From now on. Gives the way back. */
  watch(): () => void {
    const watching = [
      watchWidth("(max-width: 1099px)", (on) => (this.slim = on)),
      watchWidth("(max-width: 719px)", (on) => (this.narrow = on)),
    ];
    return () => watching.forEach((stop) => stop());
  }
}

export const layout = new Layout();

function watchWidth(query: string, tell: (on: boolean) => void): () => void {
  const media = matchMedia(query);
  const changed = () => tell(media.matches);
  changed();
  media.addEventListener("change", changed);
  return () => media.removeEventListener("change", changed);
}
