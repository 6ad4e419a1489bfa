// Watches from inside the page, before any script of its own: when pieces of a stream arrive, when words are drawn, how long tasks take.
// All times are milliseconds since the page was asked for. "Drawn" means that the frame with it is done on the main thread.
(() => {
  const bench = { arrivals: [], drawn: [], tasks: [], seen: null };
  window.bench = bench;

  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) bench.tasks.push(task.duration);
  }).observe({ type: "longtask", buffered: true });

  const realFetch = window.fetch;
  window.fetch = async (...given) => {
    const response = await realFetch(...given);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
    const tap = new TransformStream({
      transform(chunk, controller) {
        bench.arrivals.push({ at: performance.now(), chunk });
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(tap), { status: response.status, headers: response.headers });
  };

  // A message posted before a frame is drawn is delivered after it.
  const waiting = [];
  const channel = new MessageChannel();
  channel.port1.onmessage = () => waiting.splice(0).forEach((tell) => tell(performance.now()));
  function afterPaint(tell) {
    waiting.push(tell);
    channel.port2.postMessage(null);
  }

  /** Sets `bench.seen` when an element with this text is there to be seen. */
  bench.watch = (selector, text) => {
    bench.seen = null;
    const look = () => {
      const found = document.querySelector(selector);
      if (found?.checkVisibility() && found.textContent.includes(text)) afterPaint((at) => (bench.seen = at));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  };

  bench.answer = () => [...document.querySelectorAll("[data-testid=agent-message] .prose")].at(-1)?.textContent ?? "";

  /** Notes in `bench.drawn` up to which word the answer stands on the screen, whenever that changes. */
  bench.followWords = () => {
    let last = -1;
    const look = () => {
      const number = Number([...bench.answer().slice(-60).matchAll(/w(\d+)/g)].at(-1)?.[1] ?? -1);
      if (number <= last) return;
      last = number;
      afterPaint((at) => bench.drawn.push({ number, at }));
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
  };

  /** What came over the network: when each word was first in it, and how many events of messages there were. */
  bench.readArrivals = () => {
    const decoder = new TextDecoder();
    const words = [];
    let events = 0;
    for (const { at, chunk } of bench.arrivals) {
      const text = decoder.decode(chunk, { stream: true });
      events += text.split("event: messages").length - 1;
      for (const [, number] of text.matchAll(/w(\d+)(?: |\\n)/g)) words[number] ??= at;
    }
    return { events, words, began: performance.timeOrigin };
  };
})();
