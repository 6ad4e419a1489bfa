// What a screen reader is told: one polite sentence at a time, never each token.

class Announcer {
  sentence = $state("");

  say(sentence: string): void {
    // The same sentence twice would not be read again without a change.
    this.sentence = this.sentence === sentence ? `${sentence}\u00a0` : sentence;
  }
}

export const announcer = new Announcer();
