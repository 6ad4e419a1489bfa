// How much of a text is drawn: what costs a browser time is elements more than characters, and a text from elsewhere may be all elements.

const LINE = 40;
const MARK = 10;

/** Where a text reaches this cost, a character being 1, a mark and a line more. A text that grows does not change that place. */
export function extentOf(text: string, budget: number): number {
  if (text.length * LINE <= budget) return text.length;
  let left = budget;
  for (let at = 0; at < text.length; at++) {
    left -= costOf(text.charCodeAt(at));
    if (left < 0) return isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at;
  }
  return text.length;
}

function costOf(code: number): number {
  switch (code) {
    case 10: // a new line
      return LINE;
    case 42: // *
    case 91: // [
    case 95: // _
    case 96: // `
    case 124: // |
    case 126: // ~
      return MARK;
    default:
      return 1;
  }
}

const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff;

/** No writing puts more marks on one letter; thousands of them stall a browser that draws them. */
const MOST_MARKS = 8;
const PILED = new RegExp(`(\\p{M}{${MOST_MARKS}})\\p{M}+`, "gu");

export function unpile(text: string): string {
  return text.replace(PILED, "$1");
}
