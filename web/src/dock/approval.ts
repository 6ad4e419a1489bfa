/**
 * Deciding about tool calls: one draft for each call, one answer for all, in their order.
 *
 * `action_requests` are answered with `{decisions: [...]}`; a single `tool_approval` with its decision alone.
 */

import { asObject, isObject, textOf, textsOf, type Json, type JsonObject } from "../lib/json";
import { fieldsOf, readForm, toForm, withoutSecrets, type Field, type Form } from "./fields";
import { actionsIn } from "../state/waiting";

export type Decision = "approve" | "edit" | "reject" | "respond";
export const DECISIONS: readonly Decision[] = ["approve", "edit", "reject", "respond"];

export interface Action {
  name: string;
  args: JsonObject;
  about: string;
  allowed: Decision[];
  fields: Field[];
  /** What the server says the call would change, where it has looked. */
  preview: Preview | null;
}

export interface Preview {
  path: string;
  /** Unified; cut where it is very long. */
  diff: string;
  /** The version of the file that the diff was made for; null: there was none. */
  base: string | null;
  /** Why the change would fail; empty if it would not. */
  problem: string;
}

export interface ActionDraft {
  decision: Decision | null;
  form: Form;
  reason: string;
  /** Marks the file that the diff was first shown against. */
  base?: string;
}

export interface ApprovalDraft {
  actions: ActionDraft[];
}

export function readActions(payload: JsonObject): Action[] {
  const configs = Array.isArray(payload.review_configs) ? payload.review_configs.filter(isObject) : [payload];
  return actionsIn(payload).map((action, at) => {
    const config = configs.find((each) => each.action_name === action.name) ?? configs[at] ?? {};
    const allowed = DECISIONS.filter((each) => textsOf(config.allowed_decisions).includes(each));
    const args = asObject(action.args);
    return {
      name: textOf(action.name),
      args,
      about: textOf(action.description),
      allowed: allowed.length ? allowed : [...DECISIONS],
      fields: fieldsOf(args, config.args_schema),
      preview: readPreview(action),
    };
  });
}

function readPreview(action: JsonObject): Preview | null {
  if (typeof action.diff !== "string" || typeof action.path !== "string") return null;
  const base = typeof action.base_version === "string" ? action.base_version : null;
  return { path: action.path, diff: action.diff, base, problem: textOf(action.problem) };
}

export function emptyDraft(payload: JsonObject): ApprovalDraft {
  return {
    actions: readActions(payload).map((action) => ({
      decision: null,
      form: toForm(action.fields, action.args),
      reason: "",
    })),
  };
}

export type Built = { answer: Json; faults: [] } | { answer?: undefined; faults: ActionFault[] };
export interface ActionFault {
  action: number;
  /** Absent where the decision itself is missing. */
  field?: string;
  message: string;
}

/** The answer, or what is still missing, by action. */
export function buildAnswer(payload: JsonObject, draft: ApprovalDraft): Built {
  const actions = readActions(payload);
  const built = actions.map((action, at) => decide(action, draft.actions[at], at));
  const faults = built.flatMap((each) => each.faults);
  if (faults.length) return { faults };
  const decisions = built.map((each) => each.decision!);
  return { answer: Array.isArray(payload.action_requests) ? { decisions } : decisions[0]!, faults: [] };
}

/** What may be kept: no field that is named like a secret. */
export function keepable(payload: JsonObject, draft: ApprovalDraft): ApprovalDraft {
  const actions = readActions(payload);
  return {
    actions: draft.actions.map((each, at) => ({ ...each, form: withoutSecrets(actions[at]?.fields ?? [], each.form) })),
  };
}

/** A kept draft on top of a fresh one; one that does not belong to these calls is left aside. */
export function restore(payload: JsonObject, kept: unknown): ApprovalDraft {
  const fresh = emptyDraft(payload);
  const found = (kept as ApprovalDraft | null)?.actions;
  if (!Array.isArray(found) || found.length !== fresh.actions.length) return fresh;
  const actions = readActions(payload);
  return {
    actions: fresh.actions.map((each, at) => {
      const saved = found[at]!;
      const decision = saved.decision && actions[at]!.allowed.includes(saved.decision) ? saved.decision : null;
      return {
        decision,
        reason: String(saved.reason ?? ""),
        form: { ...each.form, ...saved.form },
        ...(saved.base ? { base: saved.base } : {}),
      };
    }),
  };
}

function decide(
  action: Action,
  draft: ActionDraft | undefined,
  at: number,
): { decision?: Json; faults: ActionFault[] } {
  const reason = draft?.reason.trim() ?? "";
  switch (draft?.decision) {
    case "approve":
      return { decision: { type: "approve" }, faults: [] };
    case "reject":
      return { decision: reason ? { type: "reject", message: reason } : { type: "reject" }, faults: [] };
    case "respond":
      if (!reason)
        return { faults: [{ action: at, field: "reason", message: "Write what the agent is told instead." }] };
      return { decision: { type: "respond", message: reason }, faults: [] };
    case "edit": {
      const { args, faults } = readForm(action.fields, draft.form);
      const found = Object.entries(faults).map(([field, message]) => ({ action: at, field, message }));
      return { decision: { type: "edit", edited_action: { name: action.name, args } }, faults: found };
    }
    default:
      return { faults: [{ action: at, message: `Decide about ${action.name}.` }] };
  }
}
