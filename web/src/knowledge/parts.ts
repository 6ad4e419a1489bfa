// Where something stands in a document: on a page, on a slide, in some cells of a sheet, in a message. The same rules as the server's
// (`stepwell.tools.documents.parts`), so that both call a place the same. Pure.

export interface Part {
  /** Its offset in the text; it reaches to the beginning of the next part. */
  readonly start: number;
  /** As a reader would call it: "page 3", "slide 2", "sheet Sales". */
  readonly name: string;
  /** The cells of a sheet: "A5:F5". */
  readonly cells: string;
}

const NUMBERED = /^(page|slide|message|line|row)s? (\d+)(?: to (\d+))?\b/;

/** The parts that the text from `start` to `end` touches. */
export function partsBetween(parts: readonly Part[], start: number, end: number): readonly Part[] {
  const first = Math.max(0, lastAtOrBefore(parts, start));
  return parts.slice(first, Math.max(first + 1, lastAtOrBefore(parts, end - 1) + 1));
}

/** "page 3", "pages 3 to 4", "sheet Sales, A5:F9"; empty where there are no parts. */
export function placeOf(parts: readonly Part[], start: number, end: number): string {
  const touched = partsBetween(parts, start, end);
  const [first, last] = [touched[0], touched.at(-1)];
  if (!first || !last) return "";
  if (first.name === last.name) return [first.name, span(first.cells, last.cells)].filter(Boolean).join(", ");
  const [one, other] = [NUMBERED.exec(first.name), NUMBERED.exec(last.name)];
  return one && other && one[1] === other[1]
    ? `${one[1]}s ${one[2]} to ${other[3] ?? other[2]}`
    : `${first.name} to ${last.name}`;
}

/** Rows and lines are so short that several stand in one passage; other parts never share one. */
export function mayShare(one: Part, other: Part): boolean {
  return one.name === other.name || (LINES.test(one.name) && LINES.test(other.name));
}
const LINES = /^(?:row|line)s? \d/;

/** "12 slides", "2 sheets", "1 chapter": what a document is made of. Empty where that says nothing. */
export function extentOf(parts: readonly Part[]): string {
  const kind = /^(page|slide|sheet|message|chapter) /.exec(parts[0]?.name ?? "")?.[1];
  const count = new Set(parts.map((part) => part.name)).size;
  return kind && (count > 1 || kind === "page" || kind === "sheet")
    ? `${count.toLocaleString("en")} ${kind}${count === 1 ? "" : "s"}`
    : "";
}

/** The same parts for offsets as JavaScript counts them: the server counts characters, and one beyond U+FFFF is two here. */
export function inUtf16(text: string, parts: readonly Part[]): Part[] {
  let [at, counted] = [0, 0];
  return parts.map((part) => {
    for (; counted < part.start && at < text.length; counted++) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
    return { ...part, start: at };
  });
}

/** Each part's text through a function, and where each begins in the result. */
export function mapParts(
  text: string,
  parts: readonly Part[],
  change: (text: string) => string,
): { text: string; parts: Part[] } {
  const changed: string[] = [change(text.slice(0, parts[0]?.start))];
  let length = changed[0]!.length;
  const moved = parts.map((part, n) => {
    const start = length;
    changed.push(change(text.slice(part.start, parts[n + 1]?.start)));
    length += changed.at(-1)!.length;
    return { ...part, start };
  });
  return { text: changed.join(""), parts: moved };
}

function lastAtOrBefore(parts: readonly Part[], place: number): number {
  let [low, high] = [0, parts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (parts[middle]!.start <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** "A5:F5" and "A9:F9" are "A5:F9". */
const span = (first: string, last: string): string =>
  first === last || !first || !last ? first : `${first.split(":")[0]}:${last.split(":").at(-1)}`;
