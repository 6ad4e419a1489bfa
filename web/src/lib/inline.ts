// The inside of a paragraph: code, emphasis, links, citations. One pass over the text with a stack of opened marks, as CommonMark does it.

import { safeHref } from "./links";

export type Inline =
  | { t: "text"; v: string }
  | { t: "code"; v: string }
  | { t: "em" | "strong" | "del"; c: Inline[] }
  | { t: "link"; href: string | null; c: Inline[] }
  | { t: "image"; alt: string; href: string | null }
  /** "[1]" or "[2, 3]": numbers of sources. */
  | { t: "cite"; refs: number[] }
  | { t: "br" };

/** A longer run of text is read in pieces, each by itself: a mark finds its partner within its piece. */
const LONGEST_RUN = 4_000;
/** Marks inside marks, deeper than anybody means it: those are left out. */
const MAX_DEPTH = 12;
const PUNCTUATION = /[!-/:-@[-`{-~\u2010-\u2027\u2030-\u205e]/;
const CITE = /^\[(\d{1,3}(?:, ?\d{1,3})*)\](?![([:])/;
const ADDRESS = /^(?:https?:\/\/|mailto:)[^\s<>"`]+/i;
const ENTITIES: Record<string, string> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": "\u00a0",
};

interface Mark {
  /** Where its text node stands in `nodes`. */
  node: number;
  char: string;
  count: number;
  opens: boolean;
  closes: boolean;
}

export function parseInline(source: string): Inline[] {
  return piecesOf(source, LONGEST_RUN).flatMap((piece) => new InlineParser(piece).parse());
}

/** A text in pieces of at most `size`, cut after white space where there is some. A text that grows keeps all pieces but the last. */
export function piecesOf(text: string, size: number): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (text.length - from > size) {
    const end = pieceEnd(text, from, from + size);
    pieces.push(text.slice(from, end));
    from = end;
  }
  return [...pieces, text.slice(from)];
}

function pieceEnd(text: string, from: number, most: number): number {
  for (let at = most; at > (from + most) / 2; at--) if (/\s/.test(text[at - 1]!) && text[at] !== "\u0000") return at;
  return /[\ud800-\udbff]/.test(text[most - 1]!) ? most - 1 : most; // not between the halves of a character
}

class InlineParser {
  private nodes: Inline[] = [];
  private marks: Mark[] = [];
  /** Emphasis -> how many of its kind are inside one another there. */
  private readonly depths = new Map<Inline, number>();
  private brackets: { node: number; marks: number; image: boolean; at: number }[] = [];
  private unclosedTicks = new Set<number>();
  private text = "";
  private at = 0;

  constructor(private readonly source: string) {}

  parse(): Inline[] {
    while (this.at < this.source.length) this.step();
    this.flush();
    this.joinMarks(0);
    return tidy(this.nodes);
  }

  private step(): void {
    const char = this.source[this.at]!;
    switch (char) {
      case "\\":
        return this.escape();
      case "`":
        return this.code();
      case "*":
      case "_":
      case "~":
        return this.mark(char);
      case "!":
        return this.source[this.at + 1] === "[" ? this.openBracket(true) : this.plain(char);
      case "[":
        if (!this.cite()) this.openBracket(false);
        return;
      case "]":
        return this.closeBracket();
      case "<":
        return this.angle();
      case "\n":
        return this.newline();
      case "&":
        return this.entity();
      case "h":
      case "H":
      case "m":
        return this.address();
      default:
        return this.plain(char);
    }
  }

  private plain(text: string): void {
    this.text += text;
    this.at += text.length;
  }
  private flush(): void {
    if (this.text) this.nodes.push({ t: "text", v: this.text });
    this.text = "";
  }
  private push(node: Inline, length: number): void {
    this.flush();
    this.nodes.push(node);
    this.at += length;
  }

  private escape(): void {
    const next = this.source[this.at + 1] ?? "";
    if (next === "\n") {
      this.at += 1;
      return;
    }
    if (PUNCTUATION.test(next)) {
      this.text += next;
      this.at += 2;
    } else this.plain("\\");
  }

  private code(): void {
    const ticks = this.run("`");
    const rest = this.at + ticks;
    let close = this.unclosedTicks.has(ticks) ? -1 : this.source.indexOf("`".repeat(ticks), rest);
    while (close !== -1 && (this.source[close + ticks] === "`" || this.source[close - 1] === "`")) {
      const after = close + this.run("`", close);
      close = this.source.indexOf("`".repeat(ticks), after);
    }
    if (close === -1) {
      this.unclosedTicks.add(ticks);
      return this.plain("`".repeat(ticks));
    }
    let inside = this.source.slice(rest, close).replaceAll("\n", " ").replaceAll("\u0000", "");
    if (inside.startsWith(" ") && inside.endsWith(" ") && inside.trim()) inside = inside.slice(1, -1);
    this.push({ t: "code", v: inside }, close + ticks - this.at);
  }

  private run(char: string, from = this.at): number {
    let end = from;
    while (this.source[end] === char) end++;
    return end - from;
  }

  private mark(char: string): void {
    const count = this.run(char);
    if (char === "~" && count !== 2) return this.plain(char.repeat(count));
    const before = this.source[this.at - 1] ?? " ";
    const after = this.source[this.at + count] ?? " ";
    const leftFlanking =
      !/\s/.test(after) && (!PUNCTUATION.test(after) || /\s/.test(before) || PUNCTUATION.test(before));
    const rightFlanking =
      !/\s/.test(before) && (!PUNCTUATION.test(before) || /\s/.test(after) || PUNCTUATION.test(after));
    const inWord = char === "_";
    const opens = leftFlanking && (!inWord || !rightFlanking || PUNCTUATION.test(before));
    const closes = rightFlanking && (!inWord || !leftFlanking || PUNCTUATION.test(after));
    this.flush();
    this.marks.push({ node: this.nodes.length, char, count, opens, closes });
    this.push({ t: "text", v: char.repeat(count) }, count);
  }

  /** Pair opened and closed marks from the inside out; what finds no partner stays text. */
  private joinMarks(from: number): void {
    const stack: Mark[] = [];
    const bottoms = new Map<string, number>();
    for (const mark of this.marks.slice(from)) {
      while (mark.closes && mark.count > 0) {
        const bottom = bottoms.get(mark.char) ?? 0;
        let opener = stack.length - 1;
        while (opener >= bottom && (stack[opener]!.char !== mark.char || stack[opener]!.count === 0)) opener--;
        if (opener < bottom) {
          bottoms.set(mark.char, stack.length);
          break;
        }
        this.wrap(stack[opener]!, mark);
        // Marks opened in between found no partner.
        stack.length = stack[opener]!.count > 0 ? opener + 1 : opener;
        for (const [char, place] of bottoms) if (place > stack.length) bottoms.set(char, stack.length);
      }
      if (mark.opens && mark.count > 0) stack.push(mark);
    }
    this.marks.length = from;
  }

  private wrap(open: Mark, close: Mark): void {
    const used = open.char === "~" ? 2 : open.count >= 2 && close.count >= 2 ? 2 : 1;
    const kind = open.char === "~" ? "del" : used === 2 ? "strong" : "em";
    const inside = this.nodes.slice(open.node + 1, close.node).filter((node) => node !== GONE);
    open.count -= used;
    close.count -= used;
    this.nodes[open.node] = open.count ? { t: "text", v: open.char.repeat(open.count) } : GONE;
    this.nodes[close.node] = close.count ? { t: "text", v: close.char.repeat(close.count) } : GONE;
    const depth = 1 + inside.reduce((most, node) => Math.max(most, this.depths.get(node) ?? 0), 0);
    if (depth > MAX_DEPTH) return;
    for (let at = open.node + 1; at < close.node; at++) this.nodes[at] = GONE;
    const node: Inline = { t: kind, c: tidy(inside) };
    this.depths.set(node, depth);
    this.nodes[close.node - 1] = node;
  }

  private cite(): boolean {
    const found = CITE.exec(this.source.slice(this.at, this.at + 40));
    if (!found) return false;
    this.push({ t: "cite", refs: found[1]!.split(",").map(Number) }, found[0].length);
    return true;
  }

  private openBracket(image: boolean): void {
    this.flush();
    this.brackets.push({ node: this.nodes.length, marks: this.marks.length, image, at: this.at });
    this.push({ t: "text", v: image ? "![" : "[" }, image ? 2 : 1);
  }

  private closeBracket(): void {
    const bracket = this.brackets.pop();
    const target = bracket ? this.target(this.at + 1) : null;
    if (!bracket || !target) return this.plain("]");
    this.flush();
    this.joinMarks(bracket.marks);
    const inside = tidy(this.nodes.splice(bracket.node).slice(1));
    const href = safeHref(target.address);
    this.nodes.push(bracket.image ? { t: "image", alt: plainText(inside), href } : { t: "link", href, c: inside });
    this.at = target.end;
    // No link inside a link.
    if (!bracket.image) this.brackets = this.brackets.filter((each) => each.image);
  }

  /** "(address)" or '(address "title")' right after a bracket. */
  private target(from: number): { address: string; end: number } | null {
    if (this.source[from] !== "(") return null;
    let depth = 0;
    let end = from;
    for (; end < this.source.length && end - from < 4_000; end++) {
      const char = this.source[end];
      if (char === "\n") return null;
      if (char === "\\") end++;
      else if (char === "(") depth++;
      else if (char === ")" && --depth === 0) break;
    }
    if (depth !== 0) return null;
    const inside = this.source.slice(from + 1, end).trim();
    const address = /^<([^<>]*)>/.exec(inside)?.[1] ?? inside.split(/\s/, 1)[0] ?? "";
    return { address, end: end + 1 };
  }

  private angle(): void {
    const end = this.source.indexOf(">", this.at);
    const inside = end === -1 || end - this.at > 2_000 ? "" : this.source.slice(this.at + 1, end);
    if (!ADDRESS.test(inside) || /\s/.test(inside)) return this.plain("<");
    this.push(
      { t: "link", href: safeHref(inside), c: [{ t: "text", v: inside.replace(/^mailto:/i, "") }] },
      end + 1 - this.at,
    );
  }

  private address(): void {
    const before = this.source[this.at - 1] ?? " ";
    const found = /[\w/]/.test(before) ? null : ADDRESS.exec(this.source.slice(this.at, this.at + 2_000));
    if (!found) return this.plain(this.source[this.at]!);
    const address = trimAddress(found[0]);
    this.push({ t: "link", href: safeHref(address), c: [{ t: "text", v: address }] }, address.length);
  }

  private newline(): void {
    if (this.source[this.at + 1] === "\u0000") this.push({ t: "br" }, 2);
    else this.plain("\n");
  }

  private entity(): void {
    const end = this.source.indexOf(";", this.at);
    const name = end === -1 || end - this.at > 8 ? "" : this.source.slice(this.at, end + 1);
    const decoded = ENTITIES[name];
    if (!decoded) return this.plain("&");
    this.text += decoded;
    this.at += name.length;
  }
}

const GONE: Inline = { t: "text", v: "" };

/** Neighbouring texts joined, empty ones dropped. */
function tidy(nodes: Inline[]): Inline[] {
  const kept: Inline[] = [];
  for (const node of nodes) {
    if (node.t !== "text") kept.push(node);
    else if (node.v) {
      const last = kept.at(-1);
      if (last?.t === "text") kept[kept.length - 1] = { t: "text", v: last.v + node.v };
      else kept.push(node);
    }
  }
  return kept;
}

/** Without the punctuation of the sentence around it. */
function trimAddress(address: string): string {
  let end = address.length;
  for (;;) {
    const last = address[end - 1]!;
    const inside = address.slice(0, end);
    if (/[.,;:!?'*_~\]]/.test(last) || (last === ")" && count(inside, ")") > count(inside, "("))) end--;
    else return inside;
  }
}

const count = (text: string, char: string) => text.split(char).length - 1;

export function plainText(nodes: readonly Inline[]): string {
  return nodes
    .map((node) => {
      if (node.t === "text" || node.t === "code") return node.v;
      if (node.t === "br") return "\n";
      if (node.t === "image") return node.alt;
      return node.t === "cite" ? `[${node.refs.join(", ")}]` : plainText(node.c);
    })
    .join("");
}
