// "Use this model": it becomes the default, the page says so, and leads back to what the person was writing.

import { isSame, nameOfChoice } from "../models/choices";
import { connected } from "../models/connected.svelte";
import { focusComposer } from "../ui/focus-composer";
import { toasts } from "../ui/toasts.svelte";
import { putChoice, type Choice } from "../api/connections";
import { closeSettings } from "../lib/settings-place.svelte";

export async function useModel(choice: Choice): Promise<void> {
  await putChoice("mine", { default: choice });
  await connected.changed();
  const known = connected.known.value;
  const name = known ? nameOfChoice(known, choice) : choice.model;
  const usual = known?.choice.default ?? null;
  if (usual && !isSame(usual, choice)) {
    // The server's environment decides the default: what a person chooses still holds where they are.
    await connected.choose(choice);
    toasts.show(
      `${name} answers in this conversation. Elsewhere ${nameOfChoice(known!, usual)} answers: ${usual.reason}.`,
      { ms: 12_000 },
    );
  } else {
    if (connected.own) await connected.choose(null);
    toasts.show(`${name} answers from now on.`);
  }
  closeSettings();
  void focusComposer();
}
