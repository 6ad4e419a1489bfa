/**
 * Which way a text runs, by its first letter, as `dir="auto"` has it. That attribute is for short texts only: a browser looks for the letter
 * again with every element that is put in, and takes twenty seconds for a megabyte in a field.
 */
export function directionOf(text: string): "rtl" | "ltr" {
  return /^\P{L}*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u.test(text.slice(0, 200)) ? "rtl" : "ltr";
}
