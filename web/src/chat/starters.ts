// What to begin with, and how to go on. Everything here starts a run: at once, or after it has asked for what is missing.

import { productOf } from "../state/products";
import type { Assistant } from "../state/types";

/** What a run begins with. */
export interface Start {
  readonly graphId: string;
  readonly text: string;
  readonly input?: Record<string, unknown>;
}

export interface Starter {
  readonly title: string;
  readonly text: string;
}

const AGENT: Starter[] = [
  {
    title: "Plan and write",
    text: "Plan a short workshop on reading scientific papers, then write the handout into a file.",
  },
  {
    title: "Think it through",
    text: "I have to choose between renting and buying a workshop space. Ask me what you need to know, then weigh it.",
  },
  {
    title: "Work with notes",
    text: "Make a file notes.md with a template for meeting notes, and explain each part in a sentence.",
  },
];
const TUTOR: Starter[] = [
  { title: "Examine a conviction", text: "Should schools give marks?" },
  { title: "Prepare a debate", text: "Should cities close their centres to private cars?" },
  {
    title: "Decide something of your own",
    text: "I have to decide something and want to know whether my reasons carry it. Help me with my argument.",
  },
];
const WORKSPACE: Starter[] = [
  { title: "Find your way", text: "What is in this workspace? Say in a sentence what each folder is for." },
  {
    title: "Write something down",
    text: "Write a note on how we name our files to notes/naming.md. Ask me what you need to know first.",
  },
  { title: "Work from a file", text: "Read the newest file and list what is still open in it." },
];

/** Research has its quick actions instead. */
export function startersFor(graphId: string): Starter[] {
  return { research: [], tutor: TUTOR, workspace: WORKSPACE, agents: AGENT }[productOf(graphId)];
}

export interface Field {
  readonly label: string;
  /** Used where nothing is written. */
  readonly example: string;
  readonly kind?: "url";
}

export interface QuickAction {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  /** What the button says that starts the run. */
  readonly go: string;
  readonly graphId: string;
  readonly fields: readonly Field[];
  /** It rests on what is kept on this device: "only" it, or the person "chooses". */
  readonly documents?: "only" | "choose";
  readonly start: (words: readonly string[]) => Omit<Start, "graphId">;
}

const asked = ([question = ""]: readonly string[]) => ({ text: question });
const addresses = (words: readonly string[]) => {
  const found = words.filter((each) => /^https?:\/\/\S+$/.test(each));
  return found.length ? { input: { context_urls: found } } : {};
};

export const QUICK_ACTIONS: readonly QuickAction[] = [
  {
    id: "documents",
    label: "Ask my documents",
    about: "Answers from your documents alone. Every sentence cites its place. Only the excerpts you see are sent.",
    go: "Ask my documents",
    graphId: "research",
    documents: "only",
    fields: [{ label: "Your question", example: "What are the most important dates and figures?" }],
    start: asked,
  },
  {
    id: "claim",
    label: "Check a claim",
    about: "Looks for sources that support it and for sources that deny it. You approve the plan first.",
    go: "Check it",
    graphId: "research",
    fields: [{ label: "The claim", example: "Honey never spoils." }],
    start: ([claim = ""]) => ({ text: `Is this true? ${claim}` }),
  },
  {
    id: "compare",
    label: "Compare two sources",
    about: "Reads both pages and quotes where they agree and where they differ.",
    go: "Compare them",
    graphId: "research",
    fields: [
      { label: "First address", example: "https://en.wikipedia.org/wiki/Stepwell", kind: "url" },
      { label: "Second address", example: "https://www.britannica.com/technology/stepwell", kind: "url" },
    ],
    start: (words) => ({
      text: `Compare these two sources. Where do they agree, and where do they differ? ${words.join(" ")}`,
      ...addresses(words),
    }),
  },
  {
    id: "source",
    label: "Where did this source come from?",
    about: "Who wrote a page, when, and what it rests on. What was read, and when, is kept with the answer.",
    go: "Trace it",
    graphId: "research",
    fields: [{ label: "Its address", example: "https://en.wikipedia.org/wiki/Stepwell", kind: "url" }],
    start: (words) => ({
      text: `Where does this source come from: who wrote it, when, and what does it rest on? ${words.join(" ")}`,
      ...addresses(words),
    }),
  },
  {
    id: "place",
    label: "On this device or the network?",
    about: "You decide, question by question, what may be searched.",
    go: "Ask",
    graphId: "research",
    documents: "choose",
    fields: [{ label: "Your question", example: "What are the most important dates and figures?" }],
    start: asked,
  },
];

export const DEEP: QuickAction = {
  id: "deep",
  label: "Deep research",
  about: "Several agents search, read and check one another. It takes longer and costs more than a research.",
  go: "Start deep research",
  graphId: "deep_research",
  fields: [{ label: "Your question", example: "Why were stepwells built, and why were they given up?" }],
  start: asked,
};

export interface DemoCard {
  readonly graphId: string;
  readonly title: string;
  readonly about: string;
}

/** What they are asked is in their assistants' metadata (`question`). */
export const DEMOS: readonly DemoCard[] = [
  {
    graphId: "research_demo",
    title: "Watch it catch a false sentence",
    about:
      "A one-minute research on stepwells. You approve the plan; the report marks what its sources do not say. No key, no network.",
  },
  {
    graphId: "demo_agent",
    title: "Watch an agent ask before it acts",
    about:
      "It plans, sends out two subagents and asks you before each change of a file. Its tools are real, its words are from a script.",
  },
];

/** What it means to approve a tool before it runs: in the workspace where that runs, otherwise as a demonstration. */
export const APPROVING: Start = {
  graphId: "workspace",
  text: "Write a note on how we name our files to notes/naming.md.",
};

export interface FollowUp {
  readonly label: string;
  readonly text: string;
}

const followUps = (...texts: string[]): FollowUp[] => texts.map((text) => ({ label: text, text }));
const RESEARCH_CHIPS = followUps("What speaks against this?", "Which sources are the weakest?", "What is new?");
const AGENT_CHIPS = followUps("Say it in three points", "Go deeper into the first point", "What did you leave out?");
const TUTOR_CHIPS = [{ label: "Check my argument", text: "/lint" }];
/** What a chip says, of the message that it sent. */
export const saidBy = (text: string): string => TUTOR_CHIPS.find((chip) => chip.text === text)?.label ?? text;
const WORKSPACE_CHIPS = followUps(
  "Which files did you read for this?",
  "Write that down in a file",
  "What did you leave out?",
);

/** How to go on from an answer. A demonstration says itself what it can answer; without a model nothing reads what was said before. */
export function chipsFor(assistant: Pick<Assistant, "graphId" | "demo" | "metadata">, hasModel: boolean): FollowUp[] {
  const offered = assistant.metadata["follow_ups"];
  if (Array.isArray(offered)) return followUps(...offered.filter((each) => typeof each === "string"));
  if (assistant.demo) return [];
  const product = productOf(assistant.graphId);
  if (product === "tutor") return TUTOR_CHIPS;
  if (product === "workspace") return WORKSPACE_CHIPS;
  if (product === "research") return hasModel ? RESEARCH_CHIPS : [];
  return AGENT_CHIPS;
}

/** In research a new question ends the one before, so Enter stops and sends. */
export function enterStops(graphId: string | null): boolean {
  return graphId !== null && /^(deep_)?research/.test(graphId);
}
