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
  if (!/^[0-9a-f]{96}$/.test(token)) return undefined;
  const edges = [0, 8, 12, 16, 20, 32];
  const parts = edges.slice(1).map((end, index) => token.slice(edges[index], end));
  return { holderId: parts.join("-"), tokenHash: hashLink(token) };
}
