// Light, dark, or as the system has it. public/page/theme.js sets the first one before anything is drawn.

import { keep, kept } from "./kept";

export type Theme = "system" | "light" | "dark";

class ThemeChoice {
  chosen = $state<Theme>(read());
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");

  constructor() {
    this.dark.addEventListener("change", () => this.apply());
  }

  choose(theme: Theme): void {
    this.chosen = theme;
    keep("theme", theme === "system" ? null : theme);
    this.apply();
  }

  /** The next of the three, for a shortcut. */
  turn(): Theme {
    const order: Theme[] = ["system", "light", "dark"];
    this.choose(order[(order.indexOf(this.chosen) + 1) % order.length]!);
    return this.chosen;
  }

  private apply(): void {
    const dark = this.chosen === "dark" || (this.chosen === "system" && this.dark.matches);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  }
}

function read(): Theme {
  const theme = kept("theme");
  return theme === "light" || theme === "dark" ? theme : "system";
}

export const theme = new ThemeChoice();
