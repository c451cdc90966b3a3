import { Refusal } from "../../../../platform/refusal.ts";

const retryAfterSeconds = 5;

/** For requests that find no room for what they need of an external registry. */
export function upstreamBusy(): Refusal {
  const message = "Too much is being fetched from external registries. Try again soon.";
  return new Refusal("unavailable", "registry.busy", message, { retryAfterSeconds });
}
