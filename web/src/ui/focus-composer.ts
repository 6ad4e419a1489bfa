/** Lets a dialog lead on to the conversation, where the native one would give the focus back to what opened it. */

const MOST_FRAMES = 90;

/** Puts the caret where a message is written, as soon as that is on screen and no dialog is over it. */
export async function focusComposer(): Promise<void> {
  for (let frame = 0; frame < MOST_FRAMES; frame++) {
    await new Promise(requestAnimationFrame);
    const field = document.querySelector<HTMLElement>("textarea[aria-label='Message']");
    if (!field?.offsetParent || document.querySelector("dialog[open]")) continue;
    field.blur(); // Chromium gives the focus back without a caret, and focusing what has the focus changes nothing
    return field.focus();
  }
}
