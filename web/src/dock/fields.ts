/**
 * A typed form for a tool's arguments: which field each gets, and back from what was typed to the value.
 *
 * A number stays a number, and a field that cannot be read blocks the answer with a sentence beside it. The kind comes from the tool's
 * schema where there is one, otherwise from the value that the agent gave.
 */

import { asObject, isObject, textOf, textsOf, type Json, type JsonObject } from "../lib/json";

export type FieldKind = "line" | "text" | "number" | "integer" | "switch" | "choice" | "list" | "json";

export interface Field {
  name: string;
  /** What a person reads beside it: "File", "Old string". */
  label: string;
  kind: FieldKind;
  about: string;
  choices: string[];
  /** For a number: its least and greatest value. For a text or a list: its least and greatest length. */
  range: [least: number | null, most: number | null];
  /** What a person reads for each choice; the choices themselves if nothing better is said. */
  named: string[];
  /** For a list, which is written one value per line: whether its values are numbers, and whole ones. */
  items?: "line" | "number" | "integer";
  /** Named like something secret: shown covered, and no draft of it is kept. */
  secret: boolean;
}

/** What a field holds while it is being edited. */
export type Typed = string | boolean;
export type Form = Record<string, Typed>;
export type Read = { value: Json; fault?: undefined } | { value?: undefined; fault: string };

const LONG = 80;
const SECRET = /pass(word|phrase|wd)|secret|token|api[-_]?key|credential|authorization|private[-_]?key/i;

export function fieldsOf(args: JsonObject, schema?: Json): Field[] {
  const properties = asObject(asObject(schema).properties);
  const names = [...new Set([...Object.keys(args), ...Object.keys(properties)])];
  return names.map((name) => {
    const described = asObject(properties[name]);
    const items = asObject(described.items);
    const kind = isList(args[name], described, items) ? "list" : kindOfField(args[name], described);
    const from = kind === "list" ? items : described;
    return {
      name,
      label: labelOf(name),
      kind,
      range: RANGES[kind].map((key) => numberOf(described[key])) as Field["range"],
      about: textOf(described.description),
      choices: textsOf(from.enum),
      named: textsOf(from.enumNames),
      ...(kind === "list" ? { items: ITEMS[textOf(items.type)] } : {}),
      secret: SECRET.test(name),
    };
  });
}

const LENGTHS = ["minLength", "maxLength"];
const SIZES = ["minimum", "maximum"];
const RANGES: Record<FieldKind, string[]> = {
  line: LENGTHS,
  text: LENGTHS,
  choice: LENGTHS,
  json: LENGTHS,
  switch: LENGTHS,
  number: SIZES,
  integer: SIZES,
  list: ["minItems", "maxItems"],
};
const ITEMS: Record<string, Field["items"]> = { string: "line", number: "number", integer: "integer" };

/** Whether an array can be written one value per line: its values are texts of one line, or numbers. */
function isList(value: Json | undefined, described: JsonObject, items: JsonObject): boolean {
  const wanted = textOf(items.type);
  if (described.type !== "array" || !ITEMS[wanted]) return false;
  if (value === undefined) return true;
  return (
    Array.isArray(value) &&
    value.every(
      (each) => fitsType(each, wanted) && (typeof each !== "string" || (each === each.trim() && /^.+$/.test(each))),
    )
  );
}

const numberOf = (value: Json | undefined) => (typeof value === "number" ? value : null);

const LABELS: Record<string, string> = { file_path: "File", old_string: "Old text", new_string: "New text" };

function labelOf(name: string): string {
  const words = name.replaceAll("_", " ");
  return LABELS[name] ?? words.slice(0, 1).toUpperCase() + words.slice(1);
}

export function toForm(fields: Field[], args: JsonObject): Form {
  return Object.fromEntries(
    fields.filter((field) => field.name in args).map((field) => [field.name, toTyped(field, args[field.name]!)]),
  );
}

/** The arguments as typed, or the sentence for each field that cannot be read. A field that was never filled stays away. */
export function readForm(fields: Field[], form: Form): { args: JsonObject; faults: Record<string, string> } {
  const args: JsonObject = {};
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const typed = form[field.name];
    if (typed === undefined) continue;
    const read = readField(field, typed);
    if (read.fault !== undefined) faults[field.name] = read.fault;
    else args[field.name] = read.value;
  }
  return { args, faults };
}

export function readField(field: Field, typed: Typed): Read {
  if (field.kind === "switch") return { value: typed === true };
  const text = String(typed);
  if (field.kind === "json") return readJson(text);
  if (field.kind === "list") return readList(field, text);
  const isText = field.kind !== "number" && field.kind !== "integer";
  const read: Read = isText ? { value: text } : readNumber(text, field.kind === "integer");
  if (read.fault !== undefined) return read;
  const size = isText ? [...text].length : (read.value as number);
  const [least, most] = field.range;
  return (least !== null && size < least) || (most !== null && size > most)
    ? { fault: isText ? `This must have ${rangeOf(field)} characters.` : `This must be ${rangeOf(field)}.` }
    : read;
}

/** One value per line; a choice by its name, too. Empty lines count for nothing. */
function readList(field: Field, text: string): Read {
  const value: Json[] = [];
  for (const line of text.split("\n")) {
    const written = line.trim();
    if (!written) continue;
    const known = field.choices[field.named.indexOf(written)] ?? written;
    if (field.choices.length && !field.choices.includes(known))
      return { fault: `“${written}” is none of: ${namesOf(field)}.` };
    const read: Read = field.items === "line" ? { value: known } : readNumber(written, field.items === "integer");
    if (read.fault !== undefined) return read;
    value.push(read.value);
  }
  const [least, most] = field.range;
  return (least !== null && value.length < least) || (most !== null && value.length > most)
    ? { fault: `This must have ${rangeOf(field)} ${(most ?? least) === 1 ? "line" : "lines"}.` }
    : { value };
}

const namesOf = (field: Field) => field.choices.map((choice, at) => field.named[at] ?? choice).join(", ");

/** "between 1 and 9", or empty where everything is allowed. */
export function rangeOf({ range: [least, most] }: Field): string {
  const [low, high] = [least?.toLocaleString("en"), most?.toLocaleString("en")];
  if (low !== undefined && high !== undefined) return low === high ? `exactly ${low}` : `between ${low} and ${high}`;
  return low !== undefined ? `at least ${low}` : high !== undefined ? `at most ${high}` : "";
}

/** What stands below a field: what it is for, and which numbers it takes. */
export function aboutField(field: Field): string {
  if (field.kind === "list") {
    const lines = field.choices.length ? `one per line, of: ${namesOf(field)}` : "one per line";
    return field.about ? `${field.about} (${lines})` : `${lines.slice(0, 1).toUpperCase()}${lines.slice(1)}`;
  }
  const range = field.kind === "number" || field.kind === "integer" ? rangeOf(field) : "";
  if (!range) return field.about;
  return field.about ? `${field.about} (${range})` : range.slice(0, 1).toUpperCase() + range.slice(1);
}

/** Only what may be kept in the browser's storage. */
export function withoutSecrets(fields: Field[], form: Form): Form {
  const secret = new Set(fields.filter((field) => field.secret).map((field) => field.name));
  return Object.fromEntries(Object.entries(form).filter(([name]) => !secret.has(name)));
}

export function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { fault: `This is not JSON yet: ${explain(error)}` };
  }
}

function readNumber(text: string, whole: boolean): Read {
  const trimmed = text.trim();
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed)) return { fault: `“${text}” is not a number.` };
  const value = Number(trimmed);
  if (!Number.isFinite(value)) return { fault: "This number is too large." };
  if (whole && !Number.isInteger(value)) return { fault: "This must be a whole number." };
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return { fault: "A browser cannot hold this number exactly. Use one below 9,007,199,254,740,991." };
  return { value };
}

function kindOfField(value: Json | undefined, described: JsonObject): FieldKind {
  const choices = textsOf(described.enum);
  if (choices.length && (value === undefined || (typeof value === "string" && choices.includes(value))))
    return "choice";
  const wanted = typeof described.type === "string" ? described.type : "";
  if (fitsType(value, wanted)) return byType(wanted, value);
  return byType(Array.isArray(value) ? "array" : value === null || value === undefined ? "null" : typeof value, value);
}

/** A schema decides only where the agent's own value has that type: what it gave must be shown as it is. */
function fitsType(value: Json | undefined, wanted: string): boolean {
  if (value === undefined) return wanted !== "";
  if (wanted === "integer") return Number.isInteger(value);
  return wanted === (Array.isArray(value) ? "array" : isObject(value) ? "object" : typeof value);
}

function byType(type: string, value: Json | undefined): FieldKind {
  switch (type) {
    case "string":
      return textOf(value).length > LONG || textOf(value).includes("\n") ? "text" : "line";
    case "number":
      return "number";
    case "integer":
      return "integer";
    case "boolean":
      return "switch";
    default:
      return "json";
  }
}

function toTyped(field: Field, value: Json): Typed {
  if (field.kind === "switch") return value === true;
  if (field.kind === "json") return JSON.stringify(value, null, 2);
  if (field.kind === "list") return asList(value).join("\n");
  return String(value);
}

const asList = (value: Json) => (Array.isArray(value) ? value.map(String) : []);

function explain(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  return said
    .replace(/^JSON\.parse: /, "")
    .replace(/ in JSON\b/, "")
    .replace(/\.?$/, ".");
}
