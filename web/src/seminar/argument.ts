/**
 * A tutor's argument as the panel shows it: read from the thread's values, as an outline, and with what is open.
 *
 *   thesis
 *   ├── ground            supports the thesis: why
 *   │   └── ground        supports that ground
 *   ├── objection         attacks the thesis: why
 *   │   └── reply         answers the objection; rests on ...
 *   └── definition        of a word that carries the thesis
 *
 * A clause stands once, below the first clause it bears on. What else it bears on is said beside it. Clauses that bear on nothing yet
 * stand at the end, as not placed.
 */

import { asObject, isObject, textOf, type Json, type JsonObject } from "../lib/json";
import type { Waiting } from "../state/types";

export type Kind = "thesis" | "definition" | "citation" | "narrative" | "refutation" | "reply" | "conclusion";
export type Status = "held" | "challenged" | "revised" | "withdrawn";
export type Relation = "supports" | "attacks" | "answers" | "uses";

export interface Clause {
  readonly id: string;
  readonly kind: Kind;
  readonly text: string;
  readonly status: Status;
  readonly byTutor: boolean;
  readonly opposing: boolean;
  readonly term: string;
  readonly source: string;
  readonly confidence: number | null;
}

export interface Link {
  readonly source: string;
  readonly relation: Relation;
  readonly target: string;
  /** Why it holds; empty while nobody has said. */
  readonly because: string;
}

export interface Version {
  readonly text: string;
  readonly confidence: number | null;
  readonly phase: string;
}

export interface Hint {
  readonly about: string;
  /** The question it was given for. */
  readonly text: string;
  readonly level: number;
}

export interface Argument {
  readonly question: string;
  readonly phase: string;
  readonly clauses: readonly Clause[];
  readonly links: readonly Link[];
  /** Of the thesis, oldest first. */
  readonly versions: readonly Version[];
  readonly hints: readonly Hint[];
}

export interface Entry {
  readonly clause: Clause;
  /** How it bears on the clause above it. */
  readonly link: Link | null;
  /** How else it bears on others. */
  readonly others: readonly Link[];
  readonly below: readonly Entry[];
}

export interface Phase {
  readonly name: string;
  /** What people call it. */
  readonly title: string;
  readonly about: string;
  readonly missing: readonly string[];
  readonly place: "done" | "open again" | "now" | "later";
}

export interface Progress {
  readonly complete: boolean;
  /** The clause or phase that the next question is about. */
  readonly subject: string;
  readonly phases: readonly Phase[];
  readonly findings: readonly { severity: string; sentence: string }[];
}

const KINDS: Record<Kind, string> = {
  thesis: "claim",
  definition: "definition",
  citation: "reason",
  narrative: "reason",
  refutation: "objection",
  reply: "reply",
  conclusion: "conclusion",
};
const STATUSES: Record<Status, string> = {
  held: "",
  challenged: "an objection stands against it",
  revised: "changed",
  withdrawn: "given up",
};
const RELATIONS = new Set<string>(["supports", "attacks", "answers", "uses"]);
/** In which order clauses stand below another. */
const ORDER: Kind[] = ["thesis", "definition", "citation", "narrative", "refutation", "reply", "conclusion"];
/** Hints rise to the third level; the fourth are the words themselves, which one is told. */
export const HINT_LEVELS = [
  "where to look",
  "an example from elsewhere",
  "the beginning of a sentence",
  "the words themselves",
] as const;

/** Null where the thread has none yet. */
export function readArgument(data: Json | undefined): Argument | null {
  if (!isObject(data) || !isObject(data.nodes)) return null;
  const clauses = Object.entries(data.nodes).flatMap(([id, each]) => readClause(id, each));
  const known = new Set(clauses.map((clause) => clause.id));
  const links = Object.entries(asObject(data.links))
    .flatMap(([key, because]) => readLink(key, because))
    .filter((link) => known.has(link.source) && known.has(link.target));
  return {
    question: textOf(data.question),
    phase: textOf(data.phase),
    clauses,
    links,
    versions: objectsOf(data.versions).map((each) => ({
      text: textOf(each.text),
      confidence: number(each.confidence),
      phase: textOf(each.phase),
    })),
    hints: objectsOf(data.moves)
      .filter((move) => move.move === "hint")
      .map((move) => ({ about: textOf(move.about), text: textOf(move.text), level: number(move.level) ?? 0 })),
  };
}

export function readProgress(data: Json | undefined): Progress | null {
  if (!isObject(data) || !Array.isArray(data.phases)) return null;
  const phases = objectsOf(data.phases);
  const now = phases.findIndex((phase) => phase.name === data.phase);
  return {
    complete: data.complete === true,
    subject: textOf(data.subject),
    phases: phases.map((phase, at) => {
      const missing = Array.isArray(phase.missing) ? phase.missing.map(textOf).filter(Boolean) : [];
      const place =
        data.complete === true || at < now ? (missing.length ? "open again" : "done") : at === now ? "now" : "later";
      return {
        name: textOf(phase.name),
        title: textOf(phase.title) || textOf(phase.name),
        about: textOf(phase.about),
        missing,
        place,
      };
    }),
    findings: objectsOf(data.findings).map((each) => ({
      severity: textOf(each.severity),
      sentence: textOf(each.sentence),
    })),
  };
}

/** The clauses as a tree; each of them once, however they hang together. */
export function outlineOf(argument: Argument): { entries: Entry[]; unplaced: Entry[] } {
  const seen = new Set<string>();
  const byId = new Map(argument.clauses.map((clause) => [clause.id, clause]));
  const enter = (clause: Clause, link: Link | null): Entry => {
    seen.add(clause.id);
    const arrivals = argument.links.filter((each) => each.target === clause.id && each.relation !== "uses");
    const found = arrivals
      .map((each) => ({ link: each, clause: byId.get(each.source)! }))
      .sort((one, two) => byKind(one.clause, two.clause));
    const below = found.flatMap((each) => (seen.has(each.clause.id) ? [] : [enter(each.clause, each.link)]));
    const others = argument.links.filter((each) => each.source === clause.id && each !== link);
    return { clause, link, others, below };
  };
  const rest = (kinds: Kind[]) =>
    argument.clauses
      .filter((clause) => kinds.includes(clause.kind) && !seen.has(clause.id))
      .map((clause) => enter(clause, null));
  const theses = rest(["thesis"]);
  const definitions = rest(["definition"]);
  const conclusions = rest(["conclusion"]);
  return { entries: [...theses, ...definitions, ...conclusions], unplaced: rest(ORDER) };
}

/** What a clause is called in a sentence: "your claim", "reason 2". The server's `argument/naming.py` gives the same names. */
export function nameOf(argument: Argument, id: string): string {
  const clause = argument.clauses.find((each) => each.id === id);
  if (!clause) return "your argument";
  const word = KINDS[clause.kind];
  if (word === "claim") return clause.opposing ? "the opposing claim" : "your claim";
  if (word === "definition") return `your definition of “${clause.term}”`;
  const alike = argument.clauses.filter((each) => KINDS[each.kind] === word && each.opposing === clause.opposing);
  if (word === "conclusion" && alike.length === 1) return "your conclusion";
  const side = word === "reason" && clause.opposing ? "opposing " : "";
  return `${side}${word} ${alike.indexOf(clause) + 1}`;
}

/** The same at the beginning of a line. */
export function titleOf(argument: Argument, id: string): string {
  const name = nameOf(argument, id);
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** How it stands, how sure somebody is, whose words they are; empty where there is nothing to say. */
export function statusWords(clause: Clause): string {
  const parts = [STATUSES[clause.status]];
  if (clause.kind === "thesis" && clause.confidence !== null)
    parts.unshift(`${clause.opposing ? "" : "you are "}${clause.confidence} % sure`);
  if (clause.byTutor) parts.push("in the tutor’s words");
  return parts.filter(Boolean).join(", ");
}

const BEARS: Record<Relation, string> = {
  supports: "supports",
  attacks: "speaks against",
  answers: "replies to",
  uses: "rests on",
};

/** How a clause bears on another, as the end of a sentence: "supports your claim". */
export function linkWords(argument: Argument, link: Link): string {
  return `${BEARS[link.relation]} ${nameOf(argument, link.target)}`;
}

export interface Asked {
  readonly interrupt: Waiting;
  readonly question: string;
  readonly hasOptions: boolean;
}

/** The tutor's open question, where that is what waits. */
export function openQuestion(waiting: readonly Waiting[]): Asked | null {
  const interrupt = waiting[0];
  const payload = asObject(interrupt?.payload);
  if (!interrupt || payload.type !== "clarification_request") return null;
  return {
    interrupt,
    question: textOf(payload.question),
    hasOptions: Array.isArray(payload.options) && payload.options.length > 0,
  };
}

/** How far hints about the open question have come: they are counted by question, and by subject where a model put it in its own words. */
export function hintLevel(argument: Argument, asked: Asked | null, subject: string): number {
  if (!asked) return 0;
  const ofMethod = textOf(asObject(asked.interrupt.payload).node) !== "";
  const forIt = argument.hints.filter((hint) => hint.text === asked.question);
  const found = forIt.length || ofMethod ? forIt : argument.hints.filter((hint) => hint.about === subject);
  return Math.max(0, ...found.map((hint) => hint.level));
}

/** What a button says for the person, in the form that the open question takes. */
export function answerWith(asked: Asked, words: string): Json {
  return asked.hasOptions ? { selected: [], freeform: words } : { response: words };
}

function readClause(id: string, data: Json): Clause[] {
  if (!isObject(data) || !(textOf(data.kind) in KINDS)) return [];
  return [
    {
      id,
      kind: data.kind as Kind,
      text: textOf(data.text),
      status: textOf(data.status) in STATUSES ? (data.status as Status) : "held",
      byTutor: data.author === "tutor",
      opposing: data.side === "opposing",
      term: textOf(data.term),
      source: textOf(data.source),
      confidence: number(data.confidence),
    },
  ];
}

function readLink(key: string, because: Json): Link[] {
  const [source, relation, target] = key.split(" ");
  if (!source || !target || !RELATIONS.has(relation ?? "")) return [];
  return [{ source, relation: relation as Relation, target, because: textOf(because) }];
}

function byKind(one: Clause, two: Clause): number {
  return ORDER.indexOf(one.kind) - ORDER.indexOf(two.kind);
}

function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function number(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null;
}
