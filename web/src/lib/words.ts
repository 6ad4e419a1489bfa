// Times, sizes and counts in words.

export function seconds(ms: number): string {
  if (ms < 100) return "under 0.1 s";
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  if (count < 1_000_000) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)} kB`;
  if (count < 1_000_000_000) return `${(count / 1_000_000).toFixed(1)} MB`;
  return `${(count / 1_000_000_000).toFixed(1)} GB`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Short, as in a list: "14:05", "Tue", "3 Nov", "3 Nov 2024". */
export function shortDate(iso: string, now = new Date()): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return "";
  if (date.toDateString() === now.toDateString())
    return date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (now.getTime() - date.getTime() < 6 * 86_400_000) return date.toLocaleDateString("en-GB", { weekday: "short" });
  const sameYear = date.getFullYear() === now.getFullYear();
  return date.toLocaleDateString("en-GB", { day: "numeric", month: "short", ...(sameYear ? {} : { year: "numeric" }) });
}

export function fullDate(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString("en-GB", { dateStyle: "full", timeStyle: "medium" });
}

/** The heading under which a thread stands in the list. */
export function dayHeading(iso: string, now = new Date()): string {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const at = new Date(iso).getTime();
  if (at >= midnight) return "Today";
  if (at >= midnight - 86_400_000) return "Yesterday";
  if (at >= midnight - 6 * 86_400_000) return "This week";
  return new Date(iso).toLocaleDateString("en-GB", { month: "long", year: "numeric" });
}

/** A thread's title from its first message. */
export function titleFrom(text: string): string {
  const line = text.trim().split("\n", 1)[0]!.replace(/\s+/g, " ");
  if (!line) return "Picture";
  return line.length <= 80 ? line : `${line.slice(0, 77).replace(/\s\S*$/, "")}…`;
}

/** Cents, and finer only where a cent would hide it. */
export function money(usd: number): string {
  return `${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)} USD`;
}

/** What happened and what to do, and, to be folded, what was tried. */
export function foldFailure(message: string): { sentence: string; details: string } {
  const [sentence = "", details = ""] = message.split(/ (?=Tried: )/, 2);
  return { sentence, details };
}
