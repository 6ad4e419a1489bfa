/** The registry: for each kind of question its card, how a kept draft is taken up again, and what of a draft may be kept. */

import { asObject, type Json } from "../lib/json";
import DeviceCard from "./DeviceCard.svelte";
import * as approval from "./approval";
import AddressCard from "./AddressCard.svelte";
import ApprovalCard from "./ApprovalCard.svelte";
import type { Card } from "./card";
import * as clarification from "./clarification";
import ClarificationCard from "./ClarificationCard.svelte";
import * as elicitation from "./elicitation";
import ElicitationCard from "./ElicitationCard.svelte";
import { readPlan } from "./plan";
import { emptyDraft, type PlanDraft } from "./plan-editing";
import PlanCard from "./PlanCard.svelte";
import RetryCard from "./RetryCard.svelte";
import SourcesCard from "./SourcesCard.svelte";
import UnknownCard from "./UnknownCard.svelte";
import PaymentCard from "./PaymentCard.svelte";
import type { Kind } from "../state/waiting";

const asIs = (_: Json, draft: unknown) => draft;

export const CARDS: Record<Kind, Card> = {
  plan: { component: PlanCard, restore: restorePlan, keep: asIs },
  approval: {
    component: ApprovalCard,
    restore: (payload, kept) => approval.restore(asObject(payload), kept),
    keep: (payload, draft) => approval.keepable(asObject(payload), draft),
  },
  clarification: { component: ClarificationCard, restore: (_, kept) => onTop(clarification.EMPTY, kept), keep: asIs },
  elicitation: {
    component: ElicitationCard,
    restore: (payload, kept) => elicitation.restore(asObject(payload), kept),
    keep: (payload, draft) => elicitation.keepable(asObject(payload), draft),
  },
  sources: { component: SourcesCard, restore: (_, kept) => onTop({ denied: [] as string[] }, kept), keep: asIs },
  retry: { component: RetryCard, restore: () => ({}), keep: asIs },
  address: { component: AddressCard, restore: () => ({}), keep: asIs },
  // Nothing of it is kept: what is written there may be money.
  payment: { component: PaymentCard, restore: () => ({}), keep: () => ({}) },
  device: { component: DeviceCard, restore: (_, kept) => onTop({ refusing: false, reason: "" }, kept), keep: asIs },
  unknown: { component: UnknownCard, restore: (_, kept) => onTop({ text: "", asJson: false }, kept), keep: asIs },
};

function restorePlan(payload: Json, kept: unknown): PlanDraft {
  return onTop(emptyDraft(readPlan(asObject(payload).plan)!), kept);
}

/** A kept draft over a fresh one, field by field, as far as the types agree: storage may hold what another version wrote. */
function onTop<T extends object>(fresh: T, kept: unknown): T {
  if (typeof kept !== "object" || kept === null) return structuredClone(fresh);
  const found = kept as Record<string, unknown>;
  const fitting = Object.entries(fresh).filter(
    ([name, value]) => typeof found[name] === typeof value && Array.isArray(found[name]) === Array.isArray(value),
  );
  return { ...structuredClone(fresh), ...Object.fromEntries(fitting.map(([name]) => [name, found[name]])) };
}
