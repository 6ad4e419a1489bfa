// The assistants as people look for them: four places, each with one or more graphs. Graphs of other people stand among the agents.

import { Bot, FolderOpen, GraduationCap, Search, type IconNode } from "lucide";
import type { Assistant } from "./types";

export type ProductId = "research" | "tutor" | "workspace" | "agents";

export interface ProductPlace {
  readonly id: ProductId;
  readonly name: string;
  readonly icon: IconNode;
  /** What it does, in a sentence. */
  readonly about: string;
  /** The first is the one that is asked. */
  readonly assistants: readonly Assistant[];
}

const PLACES: Omit<ProductPlace, "assistants">[] = [
  { id: "research", name: "Research", icon: Search, about: "A report with a source for every sentence." },
  { id: "tutor", name: "Tutor", icon: GraduationCap, about: "Questions that test your argument." },
  { id: "workspace", name: "Workspace", icon: FolderOpen, about: "Changes to your files, each after your approval." },
  { id: "agents", name: "Agents", icon: Bot, about: "Plans, works with tools and subagents, and asks you." },
];
const BY_GRAPH: Record<string, ProductId> = {
  research: "research",
  deep_research: "research",
  research_demo: "research",
  deeptutor: "tutor",
  seminar_agent: "tutor",
  workspace: "workspace",
};

export const productOf = (graphId: string): ProductId => BY_GRAPH[graphId] ?? "agents";

/** Those that this server has, without demonstrations and the tutor's older name. */
export function productsOf(assistants: readonly Assistant[]): ProductPlace[] {
  const offered = assistants.filter((each) => !each.demo && each.graphId !== "seminar_agent");
  return PLACES.map((place) => ({
    ...place,
    assistants: offered.filter((each) => productOf(each.graphId) === place.id),
  })).filter((place) => place.assistants.length);
}
