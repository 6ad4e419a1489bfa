/** What was answered, in one line, for the conversation. */

import { asObject, isObject, textOf, textsOf, type Json } from "../lib/json";
import { keepForTab, keptForTab } from "../lib/kept";
import { plural } from "../lib/words";
import { actionsIn, kindOf, sentenceOf, type Kind, type Waiting } from "./waiting";

export interface Receipt {
  id: string;
  words: string;
  at: Date;
  /** Of what kind the question was. */
  kind?: Kind;
  /** It was not done. */
  failed?: boolean;
  /** Where it stands: in which turn, after so many items. Absent: at the end. */
  place?: Place;
}

export interface Place {
  turn: string;
  after: number;
}

const NOT_DONE = /^You (rejected|declined|dismissed|refused|stopped|paid nothing)/;

/** Receipts outlive a reload of the tab, with their places. */
export function keepReceipts(threadId: string, receipts: readonly Receipt[]): void {
  if (receipts.length) keepForTab(`receipts.${threadId}`, JSON.stringify(receipts));
}

export function keptReceipts(threadId: string): Receipt[] {
  const found = JSON.parse(keptForTab(`receipts.${threadId}`) ?? "[]") as Receipt[];
  return found.map((each) => ({ ...each, at: new Date(each.at) }));
}

const SAID: Record<string, string> = {
  approve: "approved",
  edit: "changed and approved",
  reject: "rejected",
  respond: "answered instead",
  accept: "answered",
  decline: "declined to answer",
  cancel: "dismissed",
};

/** Answers that were given outside the answer box (by a button of a panel), by interrupt: their receipt says so, too. */
export const givenBeside = new Map<string, Json>();

/** What a tutor is told with a slash, in words. */
const COMMANDS: Record<string, string> = { "/hint": "You asked for a hint.", "/tell": "You asked to be told." };

export function receiptFor(waiting: Waiting, answer: Json, at: Date): Receipt {
  const said = words(waiting.payload, answer);
  return { id: waiting.id, words: said, at, kind: kindOf(waiting.payload), failed: NOT_DONE.test(said) };
}

function words(payload: Json, answer: Json): string {
  const said = asObject(answer);
  const reason = textOf(said.reason);
  switch (kindOf(payload)) {
    case "plan":
      if (said.decision === "approve") return "You approved the plan.";
      if (said.decision === "edit") return "You edited the plan; it is checked again.";
      return `You ${said.stop === true ? "stopped the research" : "rejected the plan"}${reason ? `: ${reason}` : "."}`;
    case "approval":
      return decisionWords(payload, said);
    case "clarification":
      return COMMANDS[chosenWords(payload, said)] ?? `You answered: ${chosenWords(payload, said)}`;
    case "elicitation":
      return `You ${SAID[textOf(said.action)]} the question.`;
    case "sources":
      return `You admitted ${plural(textsOf(said.admit).length, "source")} and left out ${textsOf(said.deny).length}.`;
    case "retry":
      if (said.decision === "documents") return "You chose to write from your documents alone.";
      return said.decision === "approve" ? "You asked for a retry." : "You stopped the search.";
    case "address":
      return said.decision === "approve" ? "You allowed the address." : "You refused the address.";
    case "payment":
      return said.cancel === true ? "You paid nothing." : "You paid; the work continues.";
    case "device":
      if (isObject(asObject(payload).notes))
        return said.approved === true ? "The tutor keeps its notes." : "The tutor’s notes stay in this conversation.";
      return said.approved === true
        ? "You allowed the change."
        : `You refused it${reason ? `: ${shorten(reason)}` : "."}`;
    case "unknown":
      return `You answered: ${shorten(typeof answer === "string" ? answer : JSON.stringify(answer))}`;
  }
}

function decisionWords(payload: Json, said: { [name: string]: Json }): string {
  const decisions = Array.isArray(said.decisions) ? said.decisions.filter(isObject) : [said];
  const lines = actionsIn(asObject(payload)).map((action, at) => {
    const decision = decisions[at] ?? {};
    const reason = textOf(decision.message);
    const words = reason ? ` (${shorten(reason).replace(/\.$/, "")})` : "";
    return `${SAID[textOf(decision.type)] ?? "answered"}: ${sentenceOf(action)}${words}`;
  });
  return `You ${lines.join("; ")}.`;
}

function chosenWords(payload: Json, said: { [name: string]: Json }): string {
  const options = asObject(payload).options;
  const label = (id: string) =>
    (Array.isArray(options) ? options.filter(isObject) : []).find((option) => option.id === id)?.label ?? id;
  return shorten(
    [...textsOf(said.selected).map((id) => String(label(id))), textOf(said.freeform), textOf(said.response)]
      .filter(Boolean)
      .join(", "),
  );
}

function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
