// Where Settings is open: "#settings/<section>" over any page, so that a link can lead there and Back leads out again.

import { router } from "./router.svelte";

export const SECTIONS = [
  { id: "models", label: "Models" },
  { id: "appearance", label: "Appearance" },
  { id: "limits", label: "Limits" },
  { id: "device", label: "This device" },
  { id: "account", label: "Account" },
] as const;
export type Section = (typeof SECTIONS)[number]["id"];

/** Null: Settings is closed. A section that does not exist leads to the first one. */
export function sectionOf(hash: string): Section | null {
  const [name, id] = hash.slice(1).split("/");
  if (name !== "settings") return null;
  return SECTIONS.find((each) => each.id === id)?.id ?? "models";
}

export const pathOfSettings = (section: Section) => `#settings/${section}`;

/** This visit has put Settings on top of a page: closing goes back to that. */
let isOnTop = false;

export const settingsPlace = {
  get section(): Section | null {
    return sectionOf(router.hash);
  },
};

export function openSettings(section: Section = "models"): void {
  const isOpen = settingsPlace.section !== null;
  if (!isOpen) isOnTop = true;
  router.go(location.pathname + pathOfSettings(section), { replace: isOpen });
}

/** Everything that needs a model leads here. */
export const openModels = (): void => openSettings("models");

export function closeSettings(): void {
  if (settingsPlace.section === null) return;
  if (isOnTop) history.back();
  else router.go(location.pathname, { replace: true });
  isOnTop = false;
}
