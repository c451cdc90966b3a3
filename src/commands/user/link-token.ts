import { createHash } from "node:crypto";

import type { LinkMailKind } from "../../events/user/mail.ts";
import type { Vault } from "../../platform/key/vault.ts";

/**
 * The secret of a link that is sent by mail. It is computed from the request's id under the
 * instance's key whenever the mail is written, so it is stored nowhere; what is kept is its hash.
 *
 * @param holderId UUID of the stream that knows the hash: the link has to say where to look
 */
export function linkToken(
  vault: Pick<Vault, "digest">,
  kind: LinkMailKind,
  holderId: string,
  requestId: string,
): string {
  return holderId.replaceAll("-", "") + vault.digest(`link ${kind}`, `${holderId} ${requestId}`);
}

export const hashLink = (token: string): string => createHash("sha256").update(token).digest("hex");

export type PresentedLink = Readonly<{ holderId: string; tokenHash: string }>;

/** Undefined when the text cannot be a token of a link at all. */
export function readLink(token: string): PresentedLink | undefined {
  const parts = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})[0-9a-f]{64}$/;
  const [, ...id] = parts.exec(token) ?? [];
  return id.length === 0 ? undefined : { holderId: id.join("-"), tokenHash: hashLink(token) };
}
