/**
 * What waits for the person: which kind it is, who asks, and how it is named in one line.
 *
 * A kind is read from the payload (`type`, or `action_requests` for LangChain's approvals), and holds if the payload has its whole form.
 * Everything else is `unknown` and can still be answered, with text or any JSON.
 */

import { asObject, isObject, textOf, type Json, type JsonObject } from "../lib/json";
import type { Waiting as Open } from "./types";

/** An open interrupt. Its payload may be anything that a graph asks with, also a bare text. */
export type Waiting = Omit<Open, "payload"> & { readonly payload: Json };

export type Kind =
  | "plan"
  | "approval"
  | "clarification"
  | "elicitation"
  | "sources"
  | "retry"
  | "address"
  | "device"
  | "payment"
  | "unknown";

const TYPES: Record<string, Kind> = {
  plan_approval: "plan",
  tool_approval: "approval",
  clarification_request: "clarification",
  mcp_elicitation: "elicitation",
  source_review: "sources",
  search_retry: "retry",
  address_approval: "address",
  payment_exhausted: "payment",
  client_tool_execution: "device",
};

export function kindOf(payload: Json): Kind {
  if (!isObject(payload)) return "unknown";
  if (typeof payload.type === "string") return fits(TYPES[payload.type], payload);
  return Array.isArray(payload.action_requests) ? fits("approval", payload) : "unknown";
}

/** One line: the heading of the answer box, the inbox and a notification. */
export function titleOf(payload: Json): string {
  const fields = asObject(payload);
  switch (kindOf(payload)) {
    case "plan":
      return "Approve this plan?";
    case "approval":
      return approvalTitle(fields);
    case "clarification":
      return textOf(fields.question) || "The agent asks you something";
    case "elicitation":
      return `${textOf(fields.server)} asks: ${textOf(fields.message)}`;
    case "sources":
      return "Which sources may be used?";
    case "retry":
      return "Retry the search?";
    case "address":
      return "May this address be fetched?";
    case "payment":
      return fields.code === "requested" ? "The agent asks for money" : "More money for the next call?";
    case "device":
      return deviceTitle(fields);
    case "unknown":
      return typeof payload === "string"
        ? payload
        : textOf(fields.question) || textOf(fields.message) || "The agent needs an answer";
  }
}

/** What has the whole form of the kind it says. Everything else is shown as it is: a graph of the user's may use our names for its own. */
function fits(kind: Kind | undefined, payload: JsonObject): Kind {
  return kind && FORMS[kind](payload) ? kind : "unknown";
}

const ASKING_TOOLS = ["ask_user", "ask_choices"];
const OPERATIONS = [
  "list_files",
  "glob_files",
  "read_file",
  "search_files",
  "grep_files",
  "write_file",
  "patch_file",
  "delete_file",
  "move_file",
];

const FORMS: Record<Kind, (payload: JsonObject) => boolean> = {
  plan: ({ plan }) => isObject(plan) && Array.isArray(plan.steps),
  approval: (payload) =>
    actionsIn(payload).length > 0 && (payload.type === "tool_approval" || Array.isArray(payload.review_configs)),
  clarification: ({ question, tool }) => typeof question === "string" && ASKING_TOOLS.includes(textOf(tool)),
  elicitation: ({ mode, url, requested_schema }) =>
    mode === "url" ? /^https?:/.test(textOf(url)) : isObject(requested_schema),
  sources: ({ sources }) => listOf(sources, (each) => typeof each.id === "string"),
  retry: ({ message }) => typeof message === "string",
  address: ({ url }) => typeof url === "string",
  payment: ({ code }) => typeof code === "string",
  device: ({ tool_calls }) =>
    listOf(tool_calls, (each) => typeof each.id === "string" && OPERATIONS.includes(textOf(each.name))),
  unknown: () => true,
};

function listOf(value: Json | undefined, fits: (each: JsonObject) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((each) => isObject(each) && fits(each));
}

function approvalTitle(fields: JsonObject): string {
  const actions = actionsIn(fields);
  return actions.length === 1 ? `${sentenceOf(actions[0]!)}?` : `${actions.length} actions need your decision`;
}

const SENTENCES: Record<string, [verb: string, argument: string]> = {
  write_file: ["Write", "file_path"],
  edit_file: ["Change", "file_path"],
  delete: ["Delete", "file_path"],
  move: ["Move", "source"],
  execute: ["Run the command", "command"],
  fetch_page: ["Read", "url"],
  fetch_url: ["Read", "url"],
  web_search: ["Search the web for", "query"],
};
const MOST_SHOWN = 80;

/** What a tool call would do, in one sentence: "Change /report.md", "Run order". */
export function sentenceOf(action: { name?: Json; args?: Json }): string {
  const [verb, argument] = SENTENCES[textOf(action.name)] ?? ["", ""];
  const about = textOf(asObject(action.args)[argument]).replace(/\s+/g, " ").trim();
  if (!verb || !about) return `Run ${textOf(action.name).replaceAll("_", " ")}`;
  return `${verb} ${about.length > MOST_SHOWN ? `${about.slice(0, MOST_SHOWN - 1)}…` : about}`;
}

/** Which files on the person's device it is about. */
function deviceTitle(fields: JsonObject): string {
  const calls = (Array.isArray(fields.tool_calls) ? fields.tool_calls : []).filter(isObject);
  const changing = calls.filter((call) => OPERATIONS.indexOf(textOf(call.name)) > 4);
  const changed = changing.map((call) => asObject(call.args));
  if (!changed.length) return "The agent needs files of your project";
  const paths = changed.map((args) => textOf(args.file_id) || textOf(args.path) || textOf(args.title));
  if (isObject(fields.notes) && paths.every((path) => path.startsWith("/tutor/")))
    return "May the tutor keep its notes in this project?";
  const [first] = paths;
  const done = { delete_file: "deleted", move_file: "moved" }[textOf(changing[0]!.name)] ?? "changed";
  return changed.length === 1 ? `May ${first} be ${done}?` : `May these ${changed.length} files be changed?`;
}

/** The tool calls of an approval: LangChain's list, or the one of `tool_approval`. */
export function actionsIn(payload: JsonObject): JsonObject[] {
  const listed = Array.isArray(payload.action_requests) ? payload.action_requests : [payload];
  const calls = listed.filter(isObject).filter((action) => typeof action.name === "string");
  return calls.length === listed.length ? calls : [];
}
