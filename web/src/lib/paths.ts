/** The last part of a path: the name of a file or folder. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
