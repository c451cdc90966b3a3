import type { IncomingMessage } from "node:http";

import { isToken } from "../../../../platform/key/token.ts";

const base = "(?:/rest-api)?";
const repositories = "/registry/(?:project/[^/]+/[^/]+|company/[^/]+|instance)/repository";
const likeToken = "lf[a-z]{2}[-_][0-9A-Za-z]{49}";
/** Clients put it in front of the channel's path, or of its name where the rest is an alias of channels. */
const forms = [
  new RegExp(`^(?<before>${base})/t/(?<token>[^/?]*)(?<behind>${base}${repositories}/.*)$`, "s"),
  new RegExp(`^(?<before>${base}${repositories})/t/(?<token>${likeToken})(?<behind>/.*)$`, "s"),
];
/** A request may name the server as well, RFC 9112, 3.2.2. */
const origin = /^https?:\/\/[^/?#]*/i;
/** However it is spelled: what no form fits is logged as it came. */
const elsewhere = /(\/|%2f)(t|%74)(\/|%2f)lf[a-z]{2}(?:[-_]|%2d|%5f)[0-9a-z]{49}/gi;
/** No token: the caller is answered as with any wrong one. */
const wrong = "-";

const withTokens = new WeakSet<IncomingMessage>();

/**
 * Takes a token out of the path of a channel of conda, `/t/<token>/registry/…`, and has the request carry it as a
 * bearer. It is done before anything reads the path, so that the token is in no log and in no kept answer. conda takes
 * letters, digits and dashes for a token, so a dash may represent the underscore.
 */
export function takePathToken(request: IncomingMessage): void {
  const { url = "" } = request;
  for (const form of url.includes("/t/") ? forms : []) {
    const { before, token, behind } = form.exec(url.replace(origin, ""))?.groups ?? {};
    if (token === undefined) continue;
    const spelled = token.replace("-", "_");
    request.url = `${before}${behind}`;
    request.headers.authorization = `Bearer ${isToken(spelled) ? spelled : wrong}`;
    withTokens.add(request);
    return;
  }
  request.url = url.replaceAll(elsewhere, "$1$2$3-");
}

/** Whether the request carried its token in its path. */
export const hadPathToken = (request: IncomingMessage): boolean => withTokens.has(request);
