import { describe, expect, it } from "vitest";

import { readChecked } from "./checks";

const passed = { name: "has source", passed: true, by: "code" };
const missing = { name: "polite", passed: false, by: "model", gap: "it shouts" };

describe("checks of an answer", () => {
  it("are told in a line", () => {
    expect(readChecked({ result: "satisfied", criteria: [passed, passed] }).words).toBe("2 of 2 checks passed");
    expect(readChecked({ result: "satisfied", criteria: [passed] }).words).toBe("1 of 1 check passed");
    expect(readChecked({ result: "needs_revision", criteria: [passed, missing] }).words).toBe(
      "1 of 2 checks passed; the agent was asked to mend this",
    );
    expect(readChecked({ result: "max_iterations_reached", criteria: [missing] })).toEqual({
      words: "0 of 1 check passed",
      passed: false,
      criteria: [{ name: "polite", passed: false, gap: "it shouts", byModel: true }],
    });
  });

  it("say what broke", () => {
    const read = readChecked({ result: "grader_error", explanation: "No credit.", criteria: [passed] });
    expect(read.words).toBe("The answer could not be checked");
    expect(read.criteria.at(-1)).toEqual({ name: "The grader", passed: false, gap: "No credit.", byModel: true });
  });

  it("of another form break nothing", () => {
    expect(readChecked({ criteria: "x" }).criteria).toEqual([]);
    expect(readChecked({ criteria: [1, { name: 7 }] }).criteria).toEqual([
      { name: "", passed: false, gap: "", byModel: false },
    ]);
  });
});
