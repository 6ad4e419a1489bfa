/** Whether things should appear without moving: asked for by the system, or in Settings > Appearance. */
export function isMotionReduced(): boolean {
  return (
    document.documentElement.dataset["motion"] === "reduced" || matchMedia("(prefers-reduced-motion: reduce)").matches
  );
}
