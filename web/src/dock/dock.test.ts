import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../lib/json";
import { buildAnswer, emptyDraft, keepable, readActions, restore } from "./approval";
import { choose, clarificationAnswer, EMPTY, readClarification } from "./clarification";
import { openDrafts } from "./drafts";
import * as elicitation from "./elicitation";
import { aboutField, fieldsOf, readForm, toForm } from "./fields";
import { receiptFor } from "../state/receipts";
import { kindOf, titleOf, type Waiting } from "../state/waiting";

const APPROVAL: JsonObject = {
  action_requests: [
    { name: "write_file", args: { file_path: "/a.md", content: "one\ntwo\n", overwrite: false } },
    { name: "send", args: { to: "ann", count: 3, share: 0.5, tags: ["x"], api_key: "k-1" }, description: "Sends it." },
  ],
  review_configs: [
    { action_name: "write_file", allowed_decisions: ["approve", "edit", "reject"] },
    { action_name: "send", allowed_decisions: ["approve", "reject"] },
  ],
};
const waiting = (payload: JsonObject) =>
  ({ id: "i1", threadId: "t1", asker: "researcher", payload }) as unknown as Waiting;

describe("kinds", () => {
  it("knows LangChain approvals by their field and ours by their type", () => {
    expect(kindOf(APPROVAL)).toBe("approval");
    expect(kindOf({ type: "clarification_request", tool: "ask_user", question: "Which?" })).toBe("clarification");
    expect(titleOf(APPROVAL)).toBe("2 actions need your decision");
  });

  it("shows as unknown what does not have the form it says", () => {
    const odds: Json[] = [
      "how many?",
      7,
      null,
      [],
      {},
      { type: "plan_approval" },
      { type: "later" },
      { action_requests: [] },
      { action_requests: [3] },
      { action_requests: [{ name: "pay", args: {} }] },
      { type: "plan_approval", plan: { goal: "x" } },
      { type: "source_review", sources: [{ name: "a" }] },
      { type: "clarification_request", question: "How many?" },
      { type: "search_retry" },
      { type: "address_approval" },
      { type: "payment_exhausted" },
      { type: "client_tool_execution", tool_calls: [{ id: "1", name: "scan", args: {} }] },
    ];
    for (const odd of odds) expect(kindOf(odd)).toBe("unknown");
    expect(titleOf("how many?")).toBe("how many?");
  });
});

describe("fields", () => {
  it("have names that a person reads", () => {
    const labels = fieldsOf({ file_path: "/a.md", content: "x", old_string: "y", max_lines: 3 }).map(
      (each) => each.label,
    );
    expect(labels).toEqual(["File", "Content", "Old text", "Max lines"]);
  });

  const args = { n: 3, x: 0.5, on: true, list: [1, "a"], nothing: null, name: "short", text: "two\nlines" };

  it("shows a list one value per line only where that says everything", () => {
    const schema = { properties: { tags: { type: "array", items: { type: "string" } } } };
    const kind = (tags: Json) => fieldsOf({ tags }, schema)[0]!.kind;
    expect([kind(["a", "b c"]), kind([]), kind(["a\nb"]), kind([" a"]), kind([""]), kind([1])]).toEqual([
      "list",
      "list",
      "json",
      "json",
      "json",
      "json",
    ]);
    const fields = fieldsOf({ tags: ["a", "b c"] }, schema);
    expect(readForm(fields, toForm(fields, { tags: ["a", "b c"] })).args).toEqual({ tags: ["a", "b c"] });
  });

  it("keeps every value as it was when nothing is edited", () => {
    const fields = fieldsOf(args);
    expect(readForm(fields, toForm(fields, args))).toEqual({ args, faults: {} });
    expect(fields.map((field) => field.kind)).toEqual(["number", "number", "switch", "json", "json", "line", "text"]);
  });

  it("keeps a number a number, and a text that looks like one a text", () => {
    const fields = fieldsOf({ n: 3, name: "3" });
    expect(readForm(fields, { n: "4.50", name: "4" }).args).toEqual({ n: 4.5, name: "4" });
  });

  it("says beside the field what cannot be read", () => {
    const fields = fieldsOf({ n: 1, list: [] }, { properties: { n: { type: "integer" } } });
    const { faults } = readForm(fields, { n: "1.5", list: "[1," });
    expect(faults.n).toBe("This must be a whole number.");
    expect(faults.list).toMatch(/^This is not JSON yet: /);
    expect(readForm(fields, { n: "two" }).faults.n).toBe("“two” is not a number.");
    expect(readForm(fields, { n: "9007199254740993" }).faults.n).toMatch(/cannot hold this number exactly/);
    expect(readForm(fields, { n: "" }).faults.n).toBeDefined();
  });

  it("offers the choices of a schema, but never hides a value that is none of them", () => {
    const schema = { properties: { mode: { type: "string", enum: ["a", "b"] } } };
    expect(fieldsOf({ mode: "a" }, schema)[0]!.kind).toBe("choice");
    expect(fieldsOf({ mode: "z" }, schema)[0]!.kind).toBe("line");
  });
});

describe("approval", () => {
  it("answers all calls in their order, with a reason for each that is rejected", () => {
    const draft = emptyDraft(APPROVAL);
    draft.actions[0] = { ...draft.actions[0]!, decision: "edit", form: { ...draft.actions[0]!.form, overwrite: true } };
    draft.actions[1] = { ...draft.actions[1]!, decision: "reject", reason: " not to Ann " };
    expect(buildAnswer(APPROVAL, draft).answer).toEqual({
      decisions: [
        {
          type: "edit",
          edited_action: { name: "write_file", args: { file_path: "/a.md", content: "one\ntwo\n", overwrite: true } },
        },
        { type: "reject", message: "not to Ann" },
      ],
    });
  });

  it("is no answer while a decision is missing", () => {
    const draft = emptyDraft(APPROVAL);
    draft.actions[0]!.decision = "approve";
    expect(buildAnswer(APPROVAL, draft)).toEqual({ faults: [{ action: 1, message: "Decide about send." }] });
  });

  it("answers a single tool_approval with the decision alone", () => {
    const payload = { type: "tool_approval", name: "send", args: {}, allowed_decisions: ["approve"] };
    const draft = emptyDraft(payload);
    draft.actions[0]!.decision = "approve";
    expect(buildAnswer(payload, draft).answer).toEqual({ type: "approve" });
    expect(readActions(payload)[0]!.allowed).toEqual(["approve"]);
  });

  it("keeps no secret in a draft, and restores the rest", () => {
    const draft = emptyDraft(APPROVAL);
    draft.actions[1] = {
      decision: "reject",
      reason: "why",
      form: { ...draft.actions[1]!.form, to: "bob", api_key: "typed" },
    };
    const kept = JSON.parse(JSON.stringify(keepable(APPROVAL, draft)));
    expect(JSON.stringify(kept)).not.toContain("typed");
    expect(restore(APPROVAL, kept).actions[1]).toEqual({
      decision: "reject",
      reason: "why",
      form: { ...emptyDraft(APPROVAL).actions[1]!.form, to: "bob" },
    });
  });

  it("restores no decision that is not allowed, and nothing of another question", () => {
    const bad = {
      actions: [
        { decision: "respond", form: {}, reason: "" },
        { decision: "edit", form: {}, reason: "" },
      ],
    };
    expect(restore(APPROVAL, bad).actions.map((each) => each.decision)).toEqual([null, null]);
    for (const foreign of [null, 3, {}, { actions: [] }])
      expect(restore(APPROVAL, foreign)).toEqual(emptyDraft(APPROVAL));
  });
});

describe("a question of an MCP server", () => {
  const schema = {
    type: "object",
    properties: {
      seats: { type: "integer", description: "how many", minimum: 1, maximum: 9 },
      seat: { type: "string", enum: ["w", "a"], enumNames: ["Window", "Aisle"], default: "w" },
      note: { type: "string", maxLength: 4 },
      vegan: { type: "boolean" },
      pin_token: { type: "string" },
    },
    required: ["seats", "vegan"],
  };
  const form: JsonObject = {
    type: "mcp_elicitation",
    server: "travel",
    tool: "book",
    mode: "form",
    message: "How?",
    requested_schema: schema,
    question_id: "q1",
  };
  const page: JsonObject = { ...form, mode: "url", url: "https://bank.example/login" };

  it("is known by its whole form, and a page only by an address of the web", () => {
    expect(kindOf(form)).toBe("elicitation");
    expect(titleOf(form)).toBe("travel asks: How?");
    expect(kindOf(page)).toBe("elicitation");
    expect(kindOf({ ...page, url: "javascript:alert(1)" })).toBe("unknown");
    expect(kindOf({ ...form, requested_schema: "x" })).toBe("unknown");
  });

  it("starts with the server's defaults, and with no for a switch", () => {
    expect(elicitation.restore(form, undefined).form).toEqual({ seat: "w", vegan: false });
    expect(elicitation.restore(form, { form: { seats: "3", vegan: "?" } }).form).toEqual({
      seat: "w",
      vegan: false,
      seats: "3",
    });
  });

  it("answers with what was filled in, each of its type", () => {
    const asked = elicitation.readElicitation(form);
    const draft = elicitation.restore(form, undefined);
    expect(elicitation.accept(asked, draft)).toEqual({ fault: "Fill in “Seats” first." });
    expect(elicitation.accept(asked, { form: { ...draft.form, seats: "2.5" } })).toEqual({
      fault: "Seats must be a whole number.",
    });
    expect(elicitation.accept(asked, { form: { ...draft.form, seats: "12" } })).toEqual({
      fault: "Seats must be between 1 and 9.",
    });
    expect(elicitation.accept(asked, { form: { ...draft.form, seats: "2", note: "12345" } })).toEqual({
      fault: "Note must have at most 4 characters.",
    });
    expect(aboutField(asked.fields[0]!)).toBe("how many (between 1 and 9)");
    expect(elicitation.accept(asked, { form: { ...draft.form, seats: "2", note: "" } })).toEqual({
      answer: { action: "accept", question_id: "q1", content: { seats: 2, seat: "w", vegan: false } },
    });
    expect(elicitation.accept(elicitation.readElicitation(page), { form: {} })).toEqual({
      answer: { action: "accept", question_id: "q1" },
    });
  });

  it("asks for a list of values one per line", () => {
    const properties = {
      cities: { type: "array", items: { type: "string" }, description: "where to", minItems: 1, maxItems: 2 },
      days: { type: "array", items: { type: "integer" } },
      meals: {
        type: "array",
        items: { type: "string", enum: ["v", "m"], enumNames: ["Vegan", "Meat"] },
        default: ["v"],
      },
    };
    const several = { ...form, requested_schema: { type: "object", properties, required: ["cities"] } };
    const asked = elicitation.readElicitation(several);
    expect(asked.fields.map((field) => [field.kind, aboutField(field)])).toEqual([
      ["list", "where to (one per line)"],
      ["list", "One per line"],
      ["list", "One per line, of: Vegan, Meat"],
    ]);
    const { form: given } = elicitation.restore(several, undefined);
    expect(given).toEqual({ meals: "v" });
    const answer = (more: Record<string, string>) => elicitation.accept(asked, { form: { ...given, ...more } });
    expect(answer({ cities: "" })).toEqual({ fault: "Fill in “Cities” first." });
    expect(answer({ cities: " \n" })).toEqual({ fault: "Cities must have between 1 and 2 lines." });
    expect(answer({ cities: "a\nb\nc" })).toEqual({ fault: "Cities must have between 1 and 2 lines." });
    expect(answer({ cities: "a", days: "1\ntwo" })).toEqual({ fault: "Days: “two” is not a number." });
    expect(answer({ cities: "a", meals: "fish" })).toEqual({ fault: "Meals: “fish” is none of: Vegan, Meat." });
    expect(answer({ cities: "Rome\n\n New York ", days: "1\n2", meals: "Meat\nv" })).toEqual({
      answer: {
        action: "accept",
        question_id: "q1",
        content: { cities: ["Rome", "New York"], days: [1, 2], meals: ["m", "v"] },
      },
    });
  });

  it("keeps no draft of what is named like a secret", () => {
    expect(elicitation.keepable(form, { form: { seats: "2", pin_token: "1" } })).toEqual({ form: { seats: "2" } });
  });

  it("leaves a receipt", () => {
    const waiting = { id: "1", payload: form } as unknown as Waiting;
    expect(receiptFor(waiting, { action: "accept" }, new Date(0)).words).toBe("You answered the question.");
    const declined = receiptFor(waiting, { action: "decline" }, new Date(0));
    expect([declined.words, declined.failed]).toEqual(["You declined to answer the question.", true]);
    expect(receiptFor(waiting, { action: "accept" }, new Date(0)).failed).toBe(false);
  });
});

describe("clarification", () => {
  const options = [
    { id: "a", label: "Apples" },
    { id: "b", label: "Bees" },
  ];

  it("is free text without options", () => {
    const asked = readClarification({ question: "Why?" });
    expect(clarificationAnswer(asked, { ...EMPTY, text: " so " })).toEqual({ answer: { response: "so" } });
    expect(clarificationAnswer(asked, EMPTY)).toEqual({ fault: "Write an answer first." });
  });

  it("takes one of several, and the last one chosen", () => {
    const asked = readClarification({ options, allow_freeform: true });
    const chosen = choose(asked, choose(asked, EMPTY, "a", true), "b", true);
    expect(clarificationAnswer(asked, chosen)).toEqual({ answer: { selected: ["b"] } });
    expect(clarificationAnswer(asked, { ...EMPTY, text: "cats" })).toEqual({
      answer: { selected: [], freeform: "cats" },
    });
    expect(clarificationAnswer(asked, EMPTY)).toEqual({ fault: "Choose one, or write your own answer." });
    const closed = readClarification({ options });
    expect(clarificationAnswer(closed, { ...EMPTY, text: "cats" })).toEqual({ fault: "Choose one." });
  });

  it("takes several in the order of the list, and own words beside them", () => {
    const asked = readClarification({ options, allow_multiple: true, allow_freeform: true });
    const both = choose(asked, choose(asked, EMPTY, "b", true), "a", true);
    expect(clarificationAnswer(asked, { ...both, text: "cats" })).toEqual({
      answer: { selected: ["a", "b"], freeform: "cats" },
    });
    expect(clarificationAnswer(asked, choose(asked, both, "a", false))).toEqual({ answer: { selected: ["b"] } });
  });

  it("reads options that are plain texts", () => {
    expect(readClarification({ options: ["x", 2] }).options).toEqual([
      { id: "x", label: "x" },
      { id: "2", label: "2" },
    ]);
  });
});

describe("drafts", () => {
  const memory = () => {
    const kept = new Map<string, string>();
    return {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, text: string) => void kept.set(key, text),
      removeItem: (key: string) => void kept.delete(key),
    };
  };

  it("belong to their interrupt", () => {
    const drafts = openDrafts(memory());
    drafts.save("i1", { text: "a" });
    expect([drafts.load("i1"), drafts.load("i2")]).toEqual([{ text: "a" }, null]);
    drafts.drop("i1");
    expect(drafts.load("i1")).toBe(null);
  });

  it("say that they were not kept where storage refuses", () => {
    const full = {
      ...memory(),
      setItem: () => {
        throw new DOMException("full", "QuotaExceededError");
      },
    };
    expect(openDrafts(full).save("i1", {})).toBe(false);
    expect(openDrafts(null).save("i1", {})).toBe(false);
    expect(openDrafts(memory()).save("i1", "x".repeat(300_000))).toBe(false);
  });
});

describe("receipts", () => {
  it("say what was decided about each call", () => {
    const answer: Json = { decisions: [{ type: "approve" }, { type: "reject", message: "not to Ann" }] };
    expect(receiptFor(waiting(APPROVAL), answer, new Date(0)).words).toBe(
      "You approved: Write /a.md; rejected: Run send (not to Ann).",
    );
  });

  it("name what was chosen, not its id", () => {
    const payload = {
      type: "clarification_request",
      tool: "ask_choices",
      question: "Which?",
      options: [{ id: "a", label: "Apples" }],
    };
    expect(receiptFor(waiting(payload), { selected: ["a"], freeform: "and pears" }, new Date(0)).words).toBe(
      "You answered: Apples, and pears",
    );
  });
});
