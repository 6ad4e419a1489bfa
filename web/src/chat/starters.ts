// What to begin with, and how to go on, for each assistant. A starter fills the composer or starts at once; a chip goes on from an answer.

export interface Starter {
  title: string;
  text: string;
}

const RESEARCH: Starter[] = [
  { title: "Check a claim", text: "Is it true that honey never spoils? What do sources say, and where do they disagree?" },
  { title: "Compare two things", text: "Compare SQLite and PostgreSQL for an application with one server and a thousand users." },
  { title: "Find the date and the source", text: "When was the first stepwell built, and which sources give that date?" },
];
const AGENT: Starter[] = [
  { title: "Plan and write", text: "Plan a short workshop on reading scientific papers, then write the handout into a file." },
  { title: "Think it through", text: "I have to choose between renting and buying a workshop space. Ask me what you need to know, then weigh it." },
  { title: "Work with notes", text: "Make a file notes.md with a template for meeting notes, and explain each part in a sentence." },
];
const TUTOR: Starter[] = [
  { title: "Examine a conviction", text: "Should schools give marks?" },
  { title: "Prepare a debate", text: "Should cities close their centres to private cars?" },
  { title: "Decide something of your own", text: "I have to decide something and want to know whether my reasons carry it. Help me with my argument." },
];
const WORKSPACE: Starter[] = [
  { title: "Find your way", text: "What is in this workspace? Say in a sentence what each folder is for." },
  { title: "Write something down", text: "Write a note on how we name our files to notes/naming.md. Ask me what you need to know first." },
  { title: "Work from a file", text: "Read the newest file and list what is still open in it." },
];
const BY_GRAPH: Record<string, Starter[]> = { research: RESEARCH, deep_research: RESEARCH, deeptutor: TUTOR, workspace: WORKSPACE };

export function startersFor(graphId: string): Starter[] {
  return BY_GRAPH[graphId] ?? AGENT;
}

const RESEARCH_CHIPS = ["What speaks against this?", "Which sources are the weakest?", "What is new?"];
const AGENT_CHIPS = ["Say it in three points", "Go deeper into the first point", "What did you leave out?"];
/** What a seminar that is complete can go on with. */
const TUTOR_CHIPS = ["/objection ", "/ground ", "/lint"];
const WORKSPACE_CHIPS = ["Which files did you read for this?", "Write that down in a file", "What did you leave out?"];

export function chipsFor(graphId: string | null): string[] {
  if (graphId === "deeptutor") return TUTOR_CHIPS;
  if (graphId === "workspace") return WORKSPACE_CHIPS;
  return graphId && /research/.test(graphId) ? RESEARCH_CHIPS : AGENT_CHIPS;
}

/** In research a new question ends the one before, so Enter stops and sends. */
export function enterStops(graphId: string | null): boolean {
  return graphId !== null && /^(deep_)?research/.test(graphId);
}
