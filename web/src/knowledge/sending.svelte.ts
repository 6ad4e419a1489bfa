// Whether files that the browser cannot read may be sent to the server for that. The person is asked before the first one, and can take
// it back; where the server is on the same machine nobody is asked. Images go on to a model, so the person is asked about them each time.

import { keep, kept } from "../lib/kept";
import { isImage, isOnThisMachine, officeKindOf } from "./office";

const CHOICE = "knowledge.send-files";

class Sending {
  /** Files that wait for an answer. */
  waiting = $state.raw<readonly File[]>([]);
  /** The person said yes, on this device. */
  agreed = $state(kept(CHOICE) === "yes");

  get isAllowed(): boolean {
    return this.agreed || isOnThisMachine();
  }

  mustAsk(file: File): boolean {
    return isImage(file) || (!this.isAllowed && officeKindOf(file.name) !== null);
  }

  ask(files: readonly File[]): void {
    this.waiting = [...this.waiting, ...files];
  }

  /** The answer; gives the files that waited for it. */
  answer(yes: boolean): readonly File[] {
    const files = this.waiting;
    this.waiting = [];
    if (yes && !files.every(isImage)) this.agree(true);
    return files;
  }

  agree(yes: boolean): void {
    this.agreed = yes;
    keep(CHOICE, yes ? "yes" : null);
  }
}

export const sending = new Sending();
