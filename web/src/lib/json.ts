/** JSON of unknown shape: what it may be, and how to read it without an error. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object, or an empty one. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** A string, or an empty one. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The strings of a list. */
export function textsOf(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
