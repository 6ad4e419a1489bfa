// A conversation as a file: Markdown to read, JSON to work with. All pages of messages are fetched first.

import { api, type WireMessage } from "../api";
import { readContent } from "../state/messages";

export async function exportThread(threadId: string, title: string, format: "md" | "json"): Promise<void> {
  const messages = await allMessages(threadId);
  const body =
    format === "json" ? JSON.stringify({ thread_id: threadId, title, messages }, null, 2) : asMarkdown(title, messages);
  save(`${fileName(title)}.${format}`, body, format === "json" ? "application/json" : "text/markdown");
}

async function allMessages(threadId: string): Promise<WireMessage[]> {
  const newestFirst: WireMessage[] = [];
  let page = await api.messages(threadId, { limit: 200 });
  newestFirst.push(...page.messages);
  while (page.next) {
    page = await api.messages(threadId, { limit: 200, before: page.next, checkpoint_id: page.checkpoint_id });
    newestFirst.push(...page.messages);
  }
  return newestFirst.reverse();
}

export function asMarkdown(title: string, messages: readonly WireMessage[]): string {
  const parts = messages.flatMap((message) => {
    const { text } = readContent(message);
    if (message.type === "human") return [`## You\n\n${text}`];
    if (message.type === "tool") return [`> ${message.name ?? "tool"}: ${text.slice(0, 500).replaceAll("\n", "\n> ")}`];
    if (message.type !== "ai") return [];
    const calls = (message.tool_calls ?? []).map((call) => `> called ${call.name}`);
    return [text && `## Agent\n\n${text}`, ...calls].filter(Boolean);
  });
  return `# ${title}\n\n${parts.join("\n\n")}\n`;
}

export function fileName(title: string): string {
  const plain = title
    .normalize("NFKD")
    .replace(/[^\w\s-]/g, "")
    .trim()
    .replace(/\s+/g, "-")
    .slice(0, 60);
  return plain || "conversation";
}

function save(name: string, body: string, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([body], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
