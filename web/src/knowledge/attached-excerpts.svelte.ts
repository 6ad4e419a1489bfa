// What of the knowledge goes along with a question. Nothing leaves that was not shown: the composer shows what fits while a person writes,
// each excerpt can be left out, and what stands there when they send is what goes. A message goes when its excerpts have been on screen for
// SEEN_MS: whoever sends earlier need not send again, and any change of words or choices in that time keeps the message.
//
//   consider(text) -> shown -> permit(text), when it has been seen -> the provider puts exactly that into the run's input, after it is recorded
//
// A message that comes another way (a starter's button, a demonstration, "ask again") takes along what was permitted for the same words in
// the same thread, or nothing.

import { announceChange, openDevice, type Chunk } from "../device/database";
import { recordSent } from "../device/sent-log";
import { keep, kept } from "../lib/kept";
import { plural } from "../lib/words";
import { provideContext, addSendCondition, type MessageContext, type OutgoingMessage } from "../state/message-context";
import { nameOf } from "../state/server.svelte";
import { announcer } from "../ui/announcer.svelte";
import { library, placeIn, type Kept } from "./library.svelte";
import { placeOf, type Part } from "./parts";
import { searchKnowledge } from "./search";
import { nameWithPlace, summary, takesExcerpts, type Excerpt, type SentExcerpts } from "./summary.svelte";

export interface Candidate extends Excerpt {
  /** Of an address whose page is not here: the address goes along, and no text. */
  readonly url?: string;
  /** Of a passage that touches several parts of its document, such as rows of a sheet. */
  readonly parts?: readonly Part[];
}

/** What may leave with a message. */
interface Permitted {
  readonly candidates: readonly Candidate[];
  /** Only the documents are searched, not the web. Null: the person has not said, so the server may decide. */
  readonly only: boolean | null;
}

const WAIT_MS = 350;
const LEAST_CHARS = 8;
const SEEN_MS = 1_500;
/** The server takes no longer name of a place. */
const MAX_PLACE_CHARS = 200;
/** Nor more excerpts. */
const MAX_SNIPPETS = 200;
const SWITCH = "knowledge.along";
const ONLY = "knowledge.only";

class AttachedExcerpts {
  /** False: the person wants nothing to go along. */
  on = $state(kept(SWITCH) !== "off");
  /** True: the answer comes from the documents alone. Null: the person has not said, so it does where the browser is offline. */
  chosenOnly = $state<boolean | null>(kept(ONLY) === null ? null : kept(ONLY) === "on");
  online = $state(globalThis.navigator?.onLine ?? true);
  candidates = $state.raw<readonly Candidate[]>([]);
  how = $state("");
  leftOut = $state.raw<ReadonlySet<string>>(new Set());
  finding = $state(false);
  problem = $state.raw<unknown>(null);
  /** The message was kept, because of what the list says. */
  held = $state(false);
  /** The message goes by itself when the list has been on screen long enough. */
  soon = $state(false);

  private text = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private looking = new AbortController();
  /** Since when what is listed is on screen. */
  private shownAt = 0;
  /** Tells a message that waits to be seen from one that was changed since. */
  private changes = 0;
  /** By the words of a message that may leave the composer, until it has left. */
  private readonly permitted = new Map<string, Permitted>();
  /** By thread and words: what went, for "ask again". */
  private readonly sent = new Map<string, Permitted>();

  readonly only = $derived(this.on && (this.chosenOnly ?? !this.online));
  readonly going = $derived(this.on ? this.candidates.filter((each) => !this.leftOut.has(each.id)) : []);

  /** Looks for what fits, a moment after the last key. */
  consider(text: string): void {
    const words = text.trim();
    if (words === this.text) return;
    this.text = words;
    this.keepBack();
    clearTimeout(this.timer);
    this.looking.abort();
    if (words.length < LEAST_CHARS || !this.on) this.clear();
    else {
      this.finding = true;
      this.timer = setTimeout(() => void this.find(words), WAIT_MS);
    }
  }

  turn(on: boolean): void {
    this.on = on;
    keep(SWITCH, on ? null : "off");
    this.lookAgain();
  }

  turnOnly(only: boolean): void {
    this.chosenOnly = only;
    keep(ONLY, only ? "on" : "off");
    this.lookAgain();
  }

  /** For as long as a form says so: it is not kept. */
  suppose(only: boolean | null): void {
    this.chosenOnly = only;
    this.lookAgain();
  }

  /** The browser lost or found its network. */
  connect(online: boolean): void {
    const before = this.only;
    this.online = online;
    if (this.only !== before) this.lookAgain();
  }

  private lookAgain(): void {
    const text = this.text;
    this.text = "";
    this.consider(text);
  }

  /** The list was changed or is gone: a message that waits to be seen stays where it was written. */
  keepBack(): void {
    this.changes++;
    [this.held, this.soon] = [false, false];
  }

  leave(id: string, out: boolean): void {
    this.keepBack();
    const next = new Set(this.leftOut);
    if (out) next.add(id);
    else next.delete(id);
    this.leftOut = next;
  }

  /**
   * Whether the message may be sent with the excerpts shown. False if no excerpt fits, or if the user changed the message while it waited.
   */
  async permit(message: Pick<OutgoingMessage, "graphId" | "text">): Promise<boolean> {
    if (!takesExcerpts(message.graphId)) return true;
    if (!this.on || !summary.documents) {
      this.permitted.set(message.text, { candidates: [], only: null });
      return true;
    }
    const isShown = this.candidates.length > 0;
    // Something else held the message back after it was permitted here.
    if (!isShown && this.permitted.has(message.text)) return true;
    if (!isShown && (message.text.length >= LEAST_CHARS || this.only)) {
      clearTimeout(this.timer);
      this.text = message.text;
      await this.find(message.text);
    }
    if (this.only && !this.going.length)
      return this.hold("Nothing in your documents fits, so there is nothing to answer from.");
    if (this.going.length && !(await this.isSeen())) return false;
    this.permitted.set(message.text, { candidates: this.going, only: this.only || this.chosenOnly });
    this.clear();
    this.text = "";
    return true;
  }

  /** Waits until what goes along has been on screen long enough. */
  private async isSeen(): Promise<boolean> {
    const left = this.shownAt + SEEN_MS - performance.now();
    if (left <= 0) return true;
    const before = this.changes;
    this.soon = true;
    announcer.say(`${plural(this.going.length, "excerpt")} of your knowledge will go along. Sending in a moment.`);
    await new Promise((resolve) => setTimeout(resolve, left));
    if (before !== this.changes) return false;
    this.soon = false;
    return document.hidden ? this.hold("Look at what goes along, then send.") : true;
  }

  private hold(words: string): false {
    this.held = true;
    announcer.say(words);
    return false;
  }

  /**
   * What a message takes along: what was permitted for its words, which counts once. The same question again in the same thread takes the
   * same, unless the person has said "none" since, or has taken the document away.
   */
  take({ threadId, text }: Pick<OutgoingMessage, "threadId" | "text">): Permitted {
    const words = text.trim();
    const place = `${threadId} ${words}`;
    const permitted = this.permitted.get(words);
    this.permitted.delete(words);
    if (permitted) this.sent.set(place, permitted);
    const here = new Set(library.documents.map((each) => each.id));
    const { candidates, only } = this.sent.get(place) ?? { candidates: [], only: null };
    const still = this.on ? candidates.filter((each) => here.has(each.document_id)) : [];
    return { candidates: still, only: still.length ? only : null };
  }

  private clear(): void {
    [this.candidates, this.leftOut, this.finding, this.problem, this.held] = [[], new Set(), false, null, false];
  }

  private show(found: readonly Candidate[]): void {
    const known = new Set(this.candidates.map((each) => each.id));
    if (found.some((each) => !known.has(each.id))) this.shownAt = performance.now();
    this.candidates = found;
  }

  private async find(words: string): Promise<void> {
    const { signal } = (this.looking = new AbortController());
    this.finding = true;
    try {
      const { hits, how } = await searchKnowledge(words, { signal, wide: this.only });
      if (signal.aborted) return;
      const documents = new Map(library.documents.map((each) => [each.id, each]));
      const found = hits.flatMap(({ chunk }) => describe(documents.get(chunk.document_id), chunk));
      // The page of an address would have to be fetched.
      this.show(this.only ? found.filter((each) => !each.url) : found);
      [this.how, this.problem] = [how, null];
    } catch (error) {
      if (!signal.aborted) [this.candidates, this.problem] = [[], error];
    } finally {
      if (!signal.aborted) this.finding = false;
    }
  }
}

export const attached = new AttachedExcerpts();

function describe(document: Kept | undefined, chunk: Chunk): Candidate[] {
  if (!document) return [];
  const { id, document_id, start, end, text } = chunk;
  const address = document.kind === "url" && !document.fetched_at ? { url: document.url } : {};
  return [
    {
      id,
      document_id,
      start,
      end,
      text,
      label: document.label,
      place: placeIn(document, chunk).slice(0, MAX_PLACE_CHARS),
      ...address,
      ...(chunk.parts ? { parts: chunk.parts } : {}),
    },
  ];
}

/** Everything is recorded on the device before it leaves. */
async function attachExcerpts(message: OutgoingMessage): Promise<MessageContext | null> {
  if (!takesExcerpts(message.graphId)) return null;
  const { candidates, only } = attached.take(message);
  const excerpts = candidates.filter((each) => !each.url).map(bare);
  const addresses = candidates.flatMap(({ document_id, label, url }) => (url ? [{ document_id, label, url }] : []));
  if (candidates.length)
    await record(message, {
      question: message.text.trim(),
      at: new Date().toISOString(),
      excerpts,
      addresses,
      ...(only ? { only } : {}),
    });
  // Also when there are none: a thread keeps what an earlier question brought.
  return {
    input: { snippets: byPart(candidates), context_urls: addresses.map((each) => each.url), only_documents: only },
  };
}

/** One snippet for each part of a passage, so that a quote names its own cells; whole passages where that would be more than a server takes. */
export function byPart(candidates: readonly Candidate[]): Excerpt[] {
  const passages = candidates.filter((each) => !each.url);
  const pieces = passages.flatMap(split);
  return pieces.length <= MAX_SNIPPETS ? pieces : passages.map(bare);
}

const bare = ({ id, document_id, label, place, text, start, end }: Candidate): Excerpt => ({
  id,
  document_id,
  label,
  place,
  text,
  start,
  end,
});

function split(passage: Candidate): Excerpt[] {
  const { id, document_id, label, text, start, end, parts = [] } = passage;
  const borders = [start, ...parts.map((part) => part.start).filter((at) => at > start && at < end), end];
  if (borders.length === 2) return [bare(passage)];
  return borders.slice(1).flatMap((border, n) => {
    const whole = text.slice(borders[n]! - start, border - start);
    const words = whole.trim();
    if (!words) return [];
    const from = borders[n]! + whole.indexOf(words);
    const to = from + words.length;
    return [
      {
        id: `${id}:${n}`,
        document_id,
        label,
        place: placeOf(parts, from, to).slice(0, MAX_PLACE_CHARS),
        text: words,
        start: from,
        end: to,
      },
    ];
  });
}

const keyOf = (threadId: string) => `knowledge.went.${threadId}`;

async function record(message: OutgoingMessage, sent: SentExcerpts): Promise<void> {
  const leaving = [
    ...sent.excerpts.map((each) => ({ label: nameWithPlace(each), text: each.text })),
    ...sent.addresses.map(({ label, url }) => ({ label, text: url })),
  ];
  const device = await openDevice();
  await device.write(["departures", "settings"], async (stores) => {
    for (const { label, text } of leaving)
      await recordSent(
        { kind: "snippet", thread_id: message.threadId, to: nameOf(message.graphId), label, text },
        stores,
      );
    const before = ((await stores.settings.get(keyOf(message.threadId)))?.value ?? []) as SentExcerpts[];
    await stores.settings.put({ key: keyOf(message.threadId), value: [...before, sent] });
  });
  announceChange("departures");
  await loadSentExcerpts(message.threadId);
}

export async function loadSentExcerpts(threadId: string): Promise<void> {
  const device = await openDevice();
  const row = await device.read("settings", (stores) => stores.settings.get(keyOf(threadId)));
  if (row) summary.sent = { ...summary.sent, [threadId]: row.value as SentExcerpts[] };
}

let started = false;

export async function start(): Promise<void> {
  if (!started) {
    provideContext(attachExcerpts);
    addSendCondition((message) => attached.permit(message));
    for (const kind of ["online", "offline"] as const)
      addEventListener(kind, () => attached.connect(kind === "online"));
  }
  started = true;
  await library.load();
  if (library.documents.length) void library.prepare();
}
