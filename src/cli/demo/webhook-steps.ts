import { createHmac, timingSafeEqual } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { invariant } from "../../platform/invariant.ts";
import type { Received } from "./receiver.ts";
import { project, type Step } from "./steps.ts";

const secret = "the secret of the webhook";
const arrivesWithinMs = 30_000;

export const webhookSteps: readonly Step[] = [
  {
    title: "A webhook for branches and tags",
    async run({ api, receiver, shell }) {
      shell.hide(secret);
      const events = {
        BRANCH_CREATE: true,
        BRANCH_UPDATE: true,
        BRANCH_DELETE: true,
        TAG_CREATE: true,
      };
      const body = { url: receiver.url, secret, events };
      const webhook = await api.json("POST", `${project}/setting/webhook`, { body });
      return `webhook ${webhook.at("id").string()}`;
    },
  },
];

/** After the pushes: what arrived, in which order, and whether it is signed. */
export const deliverySteps: readonly Step[] = [
  {
    title: "The deliveries arrived, signed, the refused one again",
    async run({ receiver, shell }) {
      const deadline = performance.now() + arrivesWithinMs;
      while (missing(receiver.received).length > 0 && performance.now() < deadline) await delay(50);
      for (const { headers, status } of receiver.received) {
        const event = headers["service-webhook-event"];
        shell.say(`${event} ${headers["service-webhook-delivery"]} → ${status}`);
      }
      const absent = missing(receiver.received);
      invariant(absent.length === 0, `every event arrived, but ${absent.join(", ")}`);
      const [refused, ...later] = receiver.received;
      const again = later.some(({ headers }) => sameDelivery(headers, refused));
      invariant(again, "the delivery answered 500 came again under the same id");
      invariant(receiver.received.every(signed), "every delivery is signed with the secret");
      return `${receiver.received.length} deliveries`;
    },
  },
];

const expected = ["BRANCH_CREATE", "BRANCH_UPDATE", "BRANCH_DELETE", "TAG_CREATE"];

function missing(received: readonly Received[]): readonly string[] {
  const taken = received.filter(({ status }) => status < 300);
  const events = new Set(taken.map(({ headers }) => headers["service-webhook-event"]));
  const absent = expected.filter((event) => !events.has(event));
  const [refused] = received;
  const back = taken.some(({ headers }) => sameDelivery(headers, refused));
  return back ? absent : [...absent, "the refused one"];
}

function sameDelivery(headers: Received["headers"], other: Received | undefined): boolean {
  const id = headers["service-webhook-delivery"];
  return id !== undefined && id === other?.headers["service-webhook-delivery"];
}

/** Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, base64 after `v1,`. */
function signed({ headers, body }: Received): boolean {
  const [id, timestamp] = [headers["webhook-id"], headers["webhook-timestamp"]];
  const mac = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
  const [expectedText, actual] = [`v1,${mac}`, String(headers["webhook-signature"])];
  return (
    expectedText.length === actual.length &&
    timingSafeEqual(Buffer.from(expectedText), Buffer.from(actual)) &&
    headers["service-webhook-secret"] === secret
  );
}
