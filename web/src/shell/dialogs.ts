// What a person has here besides conversations, in the order of the sidebar's foot: each opens a dialog that is fetched when it is needed.
// A part of the page adds its line to `SIDEBAR_DIALOGS` and has its place, its command in the palette and its dialog.

import { summary } from "../knowledge/summary.svelte";
import { plural } from "../lib/words";
import { projectStatus } from "../project/status.svelte";
import { wallet } from "../wallet/wallet.svelte";
import { sats } from "../wallet/words";

export interface SidebarDialog {
  /** For `openDialog`. */
  readonly id: string;
  readonly label: string;
  /** A few words beside the label, read again with each change of the state it looks at: "12 files", "210 sat". */
  readonly detail?: () => string;
  /** False: it has no place on this server. */
  readonly shown?: () => boolean;
  /** True: it may be shown in a moment. Its place is kept, so that nothing moves under a pointer. */
  readonly awaited?: () => boolean;
  readonly load: () => Promise<{ default: unknown }>;
}

export const SIDEBAR_DIALOGS: readonly SidebarDialog[] = [
  {
    id: "knowledge",
    label: "Knowledge",
    detail: () => (summary.documents ? plural(summary.documents, "document") : ""),
    load: () => import("../knowledge/KnowledgeDialog.svelte"),
  },
  {
    id: "project",
    label: "Project",
    detail: () => projectStatus.words,
    load: () => import("../project/ProjectDialog.svelte"),
  },
  {
    id: "wallet",
    label: "Wallet",
    detail: () => (wallet.pricing?.charged ? sats(wallet.total) : "Free"),
    shown: () => wallet.pricing !== null,
    awaited: () => !wallet.isOlder,
    load: () => import("../wallet/WalletDialog.svelte").catch(wallet.unopened),
  },
];
