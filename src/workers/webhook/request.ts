import { createHmac } from "node:crypto";

import type { WebhookAction } from "../../events/webhook/delivery.ts";
import { OutboundTimeout } from "../../platform/outbound/http.ts";
import { OutboundRefused } from "../../platform/outbound/url.ts";

export type WebhookMessage = Readonly<{
  deliveryId: string;
  action: WebhookAction;
  body: string;
  /** Null: the webhook has none, and nothing is signed. */
  secret: string | null;
  /** History is sent again. */
  isReplay: boolean;
  at: Date;
}>;

/**
 * Headers of a delivery: our own three, and those of Standard Webhooks 1.0 for receivers that use
 * one of its libraries.
 */
export function webhookHeaders(message: WebhookMessage): Readonly<Record<string, string>> {
  const { deliveryId, action, body, secret, isReplay, at } = message;
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signed = secret !== null && {
    "service-webhook-secret": secret,
    "webhook-signature": `v1,${signature(secret, `${deliveryId}.${timestamp}.${body}`)}`,
  };
  return {
    "content-type": "application/json; charset=utf-8",
    "user-agent": "Ledgerforge-Webhook",
    "service-webhook-event": action,
    "service-webhook-delivery": deliveryId,
    ...(isReplay && { "service-webhook-replay": "true" }),
    "webhook-id": deliveryId,
    "webhook-timestamp": timestamp,
    ...signed,
  };
}

/**
 * A secret in the form of Standard Webhooks (`whsec_` and base64) is its decoded bytes, as its
 * libraries have it; any other text is its UTF-8 bytes.
 */
function signature(secret: string, content: string): string {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, "base64");
  return createHmac("sha256", key).update(content).digest("base64");
}

/** Retry-After in either of its forms (RFC 9110, 10.2.3); null when there is none to be understood. */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}

const failures: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection.refused",
  ECONNRESET: "connection.reset",
  EPIPE: "connection.reset",
  EHOSTUNREACH: "connection.unreachable",
  ENETUNREACH: "connection.unreachable",
  ETIMEDOUT: "timeout",
  ENOTFOUND: "dns.not_found",
  EAI_AGAIN: "dns.failed",
  EPROTO: "tls.failed",
  HPE_HEADER_OVERFLOW: "answer.too_large",
};

/** Why there was no answer, as a stable code that reveals nothing of our network. */
export function failureCode(error: unknown): string {
  if (error instanceof OutboundRefused) return error.code;
  if (error instanceof OutboundTimeout) return "timeout";
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known = failures[code];
  if (known !== undefined) return known;
  if (code.startsWith("HPE_")) return "answer.malformed";
  if (/CERT|TLS|SSL|ISSUER|SELF_SIGNED|ALTNAME/.test(code)) return "tls.failed";
  return "connection.failed";
}
