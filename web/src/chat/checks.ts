/** What checks of an answer came to, in words. */

import { asObject, isObject, textOf, type JsonObject } from "../lib/json";

export interface Checked {
  words: string;
  /** Everything is met. */
  passed: boolean;
  criteria: { name: string; passed: boolean; gap: string; byModel: boolean }[];
}

const THEN: Record<string, string> = {
  needs_revision: "; the agent was asked to mend this",
  failed: "; the rubric could not be judged",
};

export function readChecked(given: JsonObject): Checked {
  const result = textOf(given.result);
  const listed = Array.isArray(given.criteria) ? given.criteria.filter(isObject) : [];
  const criteria = listed.map(asObject).map((each) => ({
    name: textOf(each.name),
    passed: each.passed === true,
    gap: textOf(each.gap),
    byModel: each.by === "model",
  }));
  const met = criteria.filter((each) => each.passed).length;
  const broken = result === "grader_error";
  if (broken && !criteria.some((each) => !each.passed))
    criteria.push({ name: "The grader", passed: false, gap: textOf(given.explanation), byModel: true });
  const counted = `${met} of ${criteria.length} ${criteria.length === 1 ? "check" : "checks"} passed`;
  const words = broken ? "The answer could not be checked" : `${counted}${THEN[result] ?? ""}`;
  return { words, passed: result === "satisfied", criteria };
}
