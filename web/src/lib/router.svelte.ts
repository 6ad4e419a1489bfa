// Where the page stands, as a path that can be shared:
//   /                new conversation            /t/<thread>          a thread
//   /new/<graph>     with that assistant         /t/<thread>/report   its report
//   /inbox  /operator  /sign-in
// and over any of them, after "#": #settings/<section>.

export type Route =
  | { name: "new"; graphId: string | null }
  | { name: "thread"; threadId: string; report: boolean }
  | { name: "inbox" }
  | { name: "operator" }
  | { name: "sign-in" };

export function readRoute(path: string): Route {
  const [first = "", second = "", third = ""] = path.split("/").filter(Boolean).map(decode);
  if (first === "t" && second) return { name: "thread", threadId: second, report: third === "report" };
  if (first === "inbox" || first === "operator" || first === "sign-in") return { name: first };
  return { name: "new", graphId: first === "new" && second ? second : null };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

class Router {
  route = $state.raw<Route>(readRoute(location.pathname));
  /** What lies over the page: "#settings/models", or "". */
  hash = $state(location.hash);

  constructor() {
    window.addEventListener("popstate", () => this.read());
  }

  go(path: string, options: { replace?: boolean } = {}): void {
    if (path === location.pathname + location.hash) return;
    history[options.replace ? "replaceState" : "pushState"](null, "", path);
    this.read();
  }

  private read(): void {
    this.route = readRoute(location.pathname);
    this.hash = location.hash;
  }
}

export const router = new Router();

export const pathOf = {
  thread: (threadId: string) => `/t/${encodeURIComponent(threadId)}`,
  report: (threadId: string) => `/t/${encodeURIComponent(threadId)}/report`,
  new: (graphId?: string | null) => (graphId ? `/new/${encodeURIComponent(graphId)}` : "/"),
};

/** For links: a plain click stays on this page, all other clicks are the browser's. */
export function follow(event: MouseEvent, path: string): void {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  router.go(path);
}
