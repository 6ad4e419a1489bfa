// Money between a mint and the server: invoices with their secrets, and tokens that are not handed in yet. They are in IndexedDB before
// anybody can pay, so that a browser that is closed at any moment loses nothing: the next opening of the wallet goes on.
//
//   ordered ─ paid ─> collected (a token) ─ handed in ─> gone from here
//
// Each step can be done again without harm; a lock keeps two tabs from doing it at the same moment. A step ends on the device that it began
// with, whoever is signed in by then.

import { ApiError } from "../api";
import { announceChange, onChange, openDevice, type Device } from "../device/database";
import { money } from "./api";
import { collect, orderInvoice, renewOutputs, stateOf, type Ordered } from "./mint";

export interface PurseItem extends Ordered {
  id: string;
  made_at: string;
  token: string | null;
  /** What it was ordered for: the session to top up, and its ceiling. */
  funding_id: string | null;
  ceiling_sats: number | null;
  [more: string]: unknown;
}

export interface Target {
  fundingId: string | null;
  ceilingSats: number | null;
}

const TOPIC = "purse";
const SESSION_CLOSED = "session_closed";
const OTHER_MINT = "mint_other";

class Purse {
  items = $state.raw<readonly PurseItem[]>([]);
  /** What went wrong with one of them, by its id. */
  troubles = $state.raw<Readonly<Record<string, string>>>({});
  /** Set where this browser keeps nothing: then no money can be got here without the danger of losing it. */
  unavailable = $state("");
  private watching = false;

  async load(): Promise<void> {
    try {
      const device = await openDevice();
      const rows = await device.read("purse", (stores) => stores.purse.all());
      this.items = (rows as PurseItem[]).toSorted((one, other) => one.made_at.localeCompare(other.made_at));
      this.unavailable = "";
      if (!this.watching) onChange(TOPIC, () => void this.load());
      this.watching = true;
    } catch (error) {
      this.unavailable = error instanceof Error ? error.message : String(error);
    }
  }

  /** An invoice to pay. It is shown only after its secrets are kept. */
  async order(mint: string, amountSats: number, target: Target): Promise<PurseItem> {
    const device = await openDevice();
    const invoice = await orderInvoice(mint, amountSats);
    const item: PurseItem = {
      ...invoice,
      mint,
      amount_sats: amountSats,
      id: crypto.randomUUID(),
      made_at: new Date().toISOString(),
      token: null,
      funding_id: target.fundingId,
      ceiling_sats: target.ceilingSats,
    };
    await this.put(device, item);
    return item;
  }

  /** As far as it goes now. Gives the session once the money is in it; null while the invoice waits, or another tab is at it. */
  async advance(id: string): Promise<string | null> {
    try {
      const fundingId = await navigator.locks.request(`stepwell.purse.${id}`, { ifAvailable: true }, async (lock) =>
        lock ? this.step(id) : null,
      );
      this.tell(id, "");
      return fundingId;
    } catch (error) {
      this.tell(id, error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  /** For an invoice that nobody will pay. */
  async forget(id: string): Promise<void> {
    await this.remove(await openDevice(), id);
  }

  private async step(id: string): Promise<string | null> {
    const device = await openDevice();
    let item = (await device.read("purse", (stores) => stores.purse.get(id))) as PurseItem | undefined;
    if (!item) return null;
    if (!item.token) {
      const state = await stateOf(item);
      if (state === "UNPAID") return null;
      let token = await collect(item, state === "ISSUED");
      if (token === "renew") {
        item = { ...item, ...(await renewOutputs(item)) };
        await this.put(device, item);
        token = await collect(item, false);
      }
      item = { ...item, token };
      await this.put(device, item);
    }
    if ((await openDevice()) !== device) return null; // Somebody else is signed in by now: it waits for the one who has paid.
    const fundingId = await handIn(item);
    await this.remove(device, id);
    return fundingId;
  }

  private async put(device: Device, item: PurseItem): Promise<void> {
    await device.write("purse", (stores) => stores.purse.put(item));
    announceChange(TOPIC);
    await this.load();
  }

  private async remove(device: Device, id: string): Promise<void> {
    await device.write("purse", (stores) => stores.purse.delete(id));
    announceChange(TOPIC);
    await this.load();
  }

  private tell(id: string, trouble: string): void {
    const { [id]: before = "", ...others } = this.troubles;
    if (before !== trouble) this.troubles = trouble ? { ...others, [id]: trouble } : others;
  }
}

/** The same token again is the same money. A session that ended meanwhile, or is of another mint, is not what matters: then a new one is made. */
async function handIn(item: PurseItem): Promise<string> {
  const wish = { token: item.token!, ...(item.ceiling_sats ? { ceiling_sats: item.ceiling_sats } : {}) };
  try {
    return (await money.fund({ ...wish, ...(item.funding_id ? { funding_id: item.funding_id } : {}) })).funding_id;
  } catch (error) {
    const code = error instanceof ApiError ? error.problem["code"] : "";
    if (!item.funding_id || (code !== SESSION_CLOSED && code !== OTHER_MINT)) throw error;
    return (await money.fund(wish)).funding_id;
  }
}

export const purse = new Purse();
