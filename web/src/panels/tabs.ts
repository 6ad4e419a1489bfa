/**
 * Which tabs the right panel has: only those with something in them. It opens by itself as soon as one holds what the conversation does not
 * say; the steps alone do not open it, because the conversation names each of them.
 */

import { asObject, type Json } from "../lib/json";
import type { Step, ThreadView } from "../state/types";
import type { Tab } from "../ui/Tabs.svelte";

export type TabId = "argument" | "workspace" | "sources" | "todos" | "files" | "agents" | "background" | "steps";

export function tabsOf(view: ThreadView): (Tab & { id: TabId })[] {
  const done = view.todos.filter((todo) => todo.status === "completed").length;
  const files = Object.keys(view.files).length;
  // One that a tool call started has its card in the conversation.
  const agents = agentsOf(view).length;
  const cited = citedIn(view);
  const has = (id: TabId, label: string, shown: boolean, badge: string | number = "") =>
    shown ? [{ id, label, badge }] : [];
  return [
    ...has("argument", "Argument", hasArgument(view)),
    ...has("workspace", "Workspace", view.graphId === "workspace"),
    ...has("sources", "Sources", cited !== null, cited || ""),
    ...has("todos", "To-dos", view.todos.length > 0, `${done}/${view.todos.length}`),
    ...has("files", "Files", files > 0, files),
    ...has("agents", "Subagents", agents > 0, agents),
    ...has("background", "Background", holds(view.values["async_tasks"])),
    ...has("steps", "Steps", view.steps.length > 0 || view.runs.length > 0),
  ];
}

/** Subagents that no tool call started: the conversation has no place for them. */
export const agentsOf = (view: ThreadView): Step[] =>
  view.steps.filter((step) => step.kind === "subagent" && step.toolCallId === null);

export const opensByItself = (tabs: readonly Tab[]): boolean => tabs.some((tab) => tab.id !== "steps");

/** How many sources the report cites; 0 where only the server knows; null: there is no report yet. */
function citedIn(view: ThreadView): number | null {
  const report = view.values["final_report"];
  if (typeof report === "string" && report)
    return Math.max(0, ...[...report.matchAll(/\[(\d{1,3})\]/g)].map((found) => Number(found[1])));
  const answered = view.messages.at(-1)?.role === "agent" && view.phase === "done";
  return view.graphId === "deep_research" && answered ? 0 : null;
}

const holds = (value: Json | undefined): boolean => Object.keys(asObject(value)).length > 0;

/** Something has been claimed. */
const hasArgument = (view: ThreadView): boolean => holds(asObject(view.values["argument"]).nodes);
