// What the browser keeps for this page: theme, drafts, small choices. Storage may be forbidden or full; then nothing is kept, and nothing breaks.

const PREFIX = "stepwell.";

export function keep(name: string, value: string | null): void {
  try {
    if (value === null || value === "") localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch (error) {
    console.warn("The browser keeps nothing for this page:", error);
  }
}

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}
