// Which addresses a text may link to. Everything else stays words.

/** The address if it is http, https or mailto; otherwise null. Control characters and blanks, which browsers skip, never hide a scheme. */
export function safeHref(address: string): string | null {
  const bare = address.replace(/[\u0000-\u0020\u007f-\u00a0\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "");
  if (!/^(https?:\/\/[^/]|mailto:[^/])/i.test(bare)) return null;
  try {
    const url = new URL(bare);
    return url.protocol === "http:" || url.protocol === "https:" || url.protocol === "mailto:" ? url.href : null;
  } catch {
    return null;
  }
}
