/** A question with or without choices, and the answer that what was chosen and typed stands for. */

import { isObject, textOf, type Json, type JsonObject } from "../lib/json";

export interface Option {
  id: string;
  label: string;
}

export interface Clarification {
  question: string;
  options: Option[];
  multiple: boolean;
  freeform: boolean;
}

export interface ClarificationDraft {
  selected: string[];
  /** The user's own words: the answer, or what they add to a choice. */
  text: string;
}

export function readClarification(payload: JsonObject): Clarification {
  const options = Array.isArray(payload.options) ? payload.options.map(readOption) : [];
  return {
    question: textOf(payload.question) || "The agent asks you something.",
    options,
    multiple: payload.allow_multiple === true,
    freeform: payload.allow_freeform === true,
  };
}

export const EMPTY: ClarificationDraft = { selected: [], text: "" };

export function choose(asked: Clarification, draft: ClarificationDraft, id: string, on: boolean): ClarificationDraft {
  if (!asked.multiple) return { ...draft, selected: on ? [id] : [] };
  const others = draft.selected.filter((each) => each !== id);
  const chosen = new Set(on ? [...others, id] : others);
  return { ...draft, selected: asked.options.map((option) => option.id).filter((each) => chosen.has(each)) };
}

export function clarificationAnswer(
  asked: Clarification,
  draft: ClarificationDraft,
): { answer: Json } | { fault: string } {
  const text = draft.text.trim();
  if (!asked.options.length) return text ? { answer: { response: text } } : { fault: "Write an answer first." };
  const own = asked.freeform ? text : "";
  if (!own && !draft.selected.length)
    return {
      fault: `Choose ${asked.multiple ? "at least one" : "one"}${asked.freeform ? ", or write your own answer" : ""}.`,
    };
  return { answer: own ? { selected: draft.selected, freeform: own } : { selected: draft.selected } };
}

function readOption(entry: Json): Option {
  if (!isObject(entry)) return { id: String(entry), label: String(entry) };
  const id = String(entry.id ?? entry.label ?? "");
  return { id, label: textOf(entry.label) || id };
}
