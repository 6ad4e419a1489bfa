// The stream against a real HTTP server that cuts it off.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ApiError, UnreachableError, request } from "./request";
import { stream, type Frame } from "./sse";

let server: Server | undefined;
afterEach(() => server?.close());

async function serve(
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
): Promise<string> {
  let count = 0;
  server = createServer((incoming, response) => answer(incoming, response, count++));
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const event = (id: number, name: string, data: unknown) =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

describe("stream", () => {
  it("comes back after the last event it has seen, and ends with the last one", async () => {
    const places: (string | undefined)[] = [];
    const states: string[] = [];
    const address = await serve((incoming, response, count) => {
      places.push(incoming.headers["last-event-id"] as string | undefined);
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      if (count === 0) response.write(event(1, "a", 1) + event(2, "b", "zwei"), () => response.destroy());
      else response.end(event(3, "end", null));
    });
    const frames: Frame[] = [];
    const options = {
      lastEventId: "-1",
      isLast: (frame: Frame) => frame.event === "end",
      onState: (state: string) => states.push(state),
    };
    await stream(address, options, (some) => frames.push(...some));
    expect(frames.map((frame) => [frame.id, frame.data])).toEqual([
      ["1", 1],
      ["2", "zwei"],
      ["3", null],
    ]);
    expect(places).toEqual(["-1", "2"]);
    expect(states).toEqual(["open", "cut", "open"]);
  });

  it("does not come back where it is refused", async () => {
    const address = await serve((_, response) => {
      response.writeHead(404, { "Content-Type": "application/problem+json" });
      response.end(JSON.stringify({ type: "urn:x", status: 404, detail: "No thread 'x'." }));
    });
    await expect(stream(address, {}, () => {})).rejects.toMatchObject({ status: 404, message: "No thread 'x'." });
  });

  it("ends quietly when it is aborted", async () => {
    const address = await serve((_, response) => void response.writeHead(200).write(event(1, "a", 1)));
    const abort = new AbortController();
    await stream(address, { signal: abort.signal }, () => abort.abort());
    server!.closeAllConnections();
  });
});

describe("request", () => {
  it("tells a refusal from a server that is not there", async () => {
    const address = await serve((_, response) =>
      response.writeHead(500, { "Content-Type": "text/html" }).end("<h1>oops</h1>"),
    );
    const refused = request(address).catch((error: unknown) => error);
    expect(await refused).toBeInstanceOf(ApiError);
    expect(((await refused) as Error).message).toBe("The server answered 500.");
    await new Promise((resolve) => server!.close(resolve));
    await expect(request(address)).rejects.toBeInstanceOf(UnreachableError);
  });
});
