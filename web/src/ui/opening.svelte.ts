// When a <details> is open: as the page suggests at first, and from then on as the person left it.
//
// `open={...}` in markup would be set again with every change of the data around it, and close what the person has opened.

import type { Attachment } from "svelte/attachments";

/**
 * Opens a `<details>` whenever `wish` becomes another true value. The page closes only what it opened itself, and only if the person has
 * not used it meanwhile.
 */
export function opensFor(wish: () => unknown): Attachment<HTMLDetailsElement> {
  return (element) => {
    let wished: unknown = false;
    let used = false;
    const use = () => {
      used = true;
    };
    // A summary that is opened by keyboard is clicked too.
    element.addEventListener("click", use);
    $effect(() => {
      const wishes = wish();
      if (wishes === wished) return;
      wished = wishes;
      if (wishes) element.open = true;
      else if (!used) element.open = false;
    });
    return () => element.removeEventListener("click", use);
  };
}
