import type { IncomingMessage } from "node:http";

import { looksLikeToken } from "../../platform/key/token.ts";

/** Longer texts are no password of ours, and hashing them costs. */
const credentialsLengthMax = 512;

type Basic = readonly [login: string, secret: string];

/**
 * RFC 7617: base64 of `login:password`, in UTF-8; the first colon parts them. Undefined when the
 * header is none of that.
 */
export function basicCredentials(header: string): Basic | undefined {
  const encoded = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0 || text.includes("\0")) return undefined;
  const [login, secret] = [text.slice(0, colon), text.slice(colon + 1)];
  return areTooLong(login, secret) ? undefined : [login, secret];
}

/**
 * Removes credentials that name nobody and authenticate nobody before anything reads them: `dotnet` without credentials sends
 * an empty name with an empty password.
 */
export function dropEmptyCredentials(request: IncomingMessage): void {
  const [login, secret] = basicCredentials(request.headers.authorization ?? "") ?? ["-"];
  if (login === "" && secret === "") delete request.headers.authorization;
}

/** Whether the secret can be the password of an account at all. A wrong one that can is a guess, others are not. */
export function canBePassword(login: string, secret: string): boolean {
  return login !== "" && secret !== "" && !looksLikeToken(secret) && !areTooLong(login, secret);
}

function areTooLong(login: string, secret: string): boolean {
  return login.length + secret.length > credentialsLengthMax;
}
