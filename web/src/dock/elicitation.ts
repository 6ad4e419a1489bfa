/** A question of an MCP server: the form it asks for, and the answer that what was typed stands for. */

import { asObject, textOf, textsOf, type Json, type JsonObject } from "../lib/json";
import { fieldsOf, readForm, toForm, withoutSecrets, type Field, type Form } from "./fields";

export interface Elicitation {
  server: string;
  /** The address to open, for a question that asks for that; otherwise empty. */
  url: string;
  fields: Field[];
  required: string[];
  /** What was wrong with the last answer, or why the server asks anew. */
  problem: string;
  questionId: string;
}

export interface ElicitationDraft {
  form: Form;
}

export function readElicitation(payload: JsonObject): Elicitation {
  const schema = asObject(payload.requested_schema);
  return {
    server: textOf(payload.server),
    url: payload.mode === "url" ? textOf(payload.url) : "",
    fields: fieldsOf({}, schema),
    required: textsOf(schema.required),
    problem: textOf(payload.problem),
    questionId: textOf(payload.question_id),
  };
}

/** The server's defaults, under what was kept. A switch that nobody has touched says no. */
export function restore(payload: JsonObject, kept: unknown): ElicitationDraft {
  const { fields } = readElicitation(payload);
  const properties = asObject(asObject(payload.requested_schema).properties);
  const defaults: JsonObject = {};
  for (const field of fields) {
    const given = asObject(properties[field.name]).default;
    if (given !== undefined && given !== null) defaults[field.name] = given;
    else if (field.kind === "switch") defaults[field.name] = false;
  }
  const typed = asObject(asObject(kept as Json).form);
  const fitting = fields.filter(
    (field) => typeof typed[field.name] === (field.kind === "switch" ? "boolean" : "string"),
  );
  return {
    form: {
      ...toForm(fields, defaults),
      ...Object.fromEntries(fitting.map(({ name }) => [name, typed[name] as string])),
    },
  };
}

export function keepable(payload: JsonObject, draft: ElicitationDraft): ElicitationDraft {
  return { form: withoutSecrets(readElicitation(payload).fields, draft.form) };
}

export function accept(asked: Elicitation, draft: ElicitationDraft): { answer: Json } | { fault: string } {
  const reply = { action: "accept", question_id: asked.questionId };
  if (asked.url) return { answer: reply };
  const filled = asked.fields.filter((field) => draft.form[field.name] !== undefined && draft.form[field.name] !== "");
  const missing = asked.fields.find((field) => asked.required.includes(field.name) && !filled.includes(field));
  if (missing) return { fault: `Fill in “${missing.label}” first.` };
  const { args, faults } = readForm(filled, draft.form);
  const [first] = Object.keys(faults);
  if (first) {
    const { label } = asked.fields.find((field) => field.name === first)!;
    const said = faults[first]!;
    return { fault: said.startsWith("This must ") ? said.replace("This", label) : `${label}: ${said}` };
  }
  return { answer: { ...reply, content: args } };
}
