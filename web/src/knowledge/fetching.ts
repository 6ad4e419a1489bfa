// Pages of the web that the server fetches for this device.

import { request, type Schemas } from "../api";
import { recordSent } from "../device/sent-log";

export type PageText = Schemas["PageText"];

/** Has the server fetch a page: the address leaves the device for that, and is listed as such. */
export async function fetchPage(url: string, label: string): Promise<PageText> {
  await recordSent({ kind: "snippet", thread_id: "", to: "this server, to fetch the page", label, text: url });
  return request<PageText>("/api/pages/read", { method: "POST", json: { url }, timeoutMs: 60_000 });
}
