import { LRUCache } from "lru-cache";
import { z } from "zod";
import { trimmedOf } from "../../../platform/trim.ts";
import type { Deps } from "../../core/deps.ts";
import {
  credentialsOf,
  failed,
  type ProxyRepository,
  type UpstreamLogin,
} from "../package/proxy/upstream.ts";

const timeoutMs = 30_000;
const tokenBytesMax = 256 * 1024;
const challengeLengthMax = 4_096;
/** distribution/docs, spec/auth/token.md: a token that does not say how long it lasts is good for 60 s. */
const secondsDefault = 60;
/** A token is requested again this long before it expires, so that it lasts for a request under way. */
const secondsAhead = 10;
const secondsMax = 3_600;

/** By proxy, its settings and scope. */
const tokens = new LRUCache<string, string>({ max: 5_000 });

export type UpstreamImage = Readonly<{
  /** URL of the image's resources, without a slash at its end. */
  base: string;
  login: UpstreamLogin;
}>;

/**
 * An image at the external registry. What follows the host in the proxy's URL, `/v2` aside, comes before its name.
 * Docker's own registry has images without a slash in their name below `library/`.
 */
export function upstreamImage(
  proxy: ProxyRepository,
  image: string,
  deps: Pick<Deps, "outbound" | "vault">,
): UpstreamImage {
  const { origin, hostname, pathname } = new URL(proxy.settings.url);
  const path = trimmedOf(pathname.replace(/^\/v2(?=\/|$)/, ""), "/");
  const isOfDocker = /(?:^|\.)docker\.(?:io|com)$/.test(hostname);
  const prefix = path !== "" ? `${path}/` : isOfDocker && !image.includes("/") ? "library/" : "";
  const name = `${prefix}${image}`;
  return { base: `${origin}/v2/${name}`, login: loginFor(proxy, `repository:${name}:pull`, deps) };
}

function loginFor(
  proxy: ProxyRepository,
  scope: string,
  deps: Pick<Deps, "outbound" | "vault">,
): UpstreamLogin {
  const key = JSON.stringify([proxy.id, proxy.settings, scope]);
  return {
    async begin() {
      const known = tokens.get(key);
      if (known !== undefined) return known;
      const own = await credentialsOf(proxy, deps);
      return own?.startsWith("Bearer ") ? own : undefined;
    },
    async answer(header) {
      const own = await credentialsOf(proxy, deps);
      const basic = own?.startsWith("Basic ") ? own : undefined;
      const challenge = header.slice(0, challengeLengthMax);
      if (/^basic\b/i.test(challenge)) return basic;
      const params = bearerParams(challenge);
      if (params === undefined) return undefined;
      const token = await tokenOf(proxy, { ...params, scope, basic }, deps);
      if (token === undefined) return undefined;
      tokens.set(key, token.authorization, { ttl: token.seconds * 1_000 });
      return token.authorization;
    },
  };
}

type Challenge = Readonly<{ realm: URL; service: string | undefined }>;

/** RFC 6750, 3, as registries write it. */
function bearerParams(challenge: string): Challenge | undefined {
  if (!/^bearer\s/i.test(challenge)) return undefined;
  const pairs = [...challenge.matchAll(/\b(realm|service)="([^"]*)"/g)];
  const found = new Map(pairs.map(([, name = "", value = ""]) => [name, value]));
  const realm = found.get("realm") ?? "";
  if (!URL.canParse(realm)) return undefined;
  return { realm: new URL(realm), service: found.get("service") };
}

type TokenRequest = Challenge & Readonly<{ scope: string; basic: string | undefined }>;

const Token = z.object({
  token: z.string().min(1).optional(),
  access_token: z.string().min(1).optional(),
  expires_in: z.number().optional(),
});

/**
 * Requests, where the registry says, a token that reads one image. The credentials of the proxy go there when the place
 * is of the registry's own origin, or is reached by TLS: the registry has them at its disposal anyway.
 */
async function tokenOf(
  proxy: ProxyRepository,
  { realm, service, scope, basic }: TokenRequest,
  { outbound }: Pick<Deps, "outbound">,
): Promise<Readonly<{ authorization: string; seconds: number }> | undefined> {
  const url = new URL(realm);
  if (service !== undefined) url.searchParams.set("service", service);
  url.searchParams.set("scope", scope);
  const isTrusted = url.origin === new URL(proxy.settings.url).origin || url.protocol === "https:";
  const headers = {
    accept: "application/json",
    "user-agent": "ledgerforge",
    ...(isTrusted && basic !== undefined && { authorization: basic }),
  };
  const order = { method: "GET", url: url.href, headers, timeoutMs } as const;
  const answer = await outbound.request({ ...order, bodyBytesMax: tokenBytesMax }).catch(() => {
    throw failed("The external registry names no place that gives tokens.");
  });
  if (answer.status !== 200 || answer.bodyTruncated) return undefined;
  const { token, access_token, expires_in = secondsDefault } = tokenIn(answer.body);
  const text = token ?? access_token;
  // What it says goes into a header.
  if (text === undefined || !/^[\x21-\x7e]+$/.test(text)) return undefined;
  const seconds = Math.min(secondsMax, Math.max(secondsDefault, expires_in)) - secondsAhead;
  return { authorization: `Bearer ${text}`, seconds };
}

function tokenIn(body: Buffer): z.output<typeof Token> {
  try {
    return Token.parse(JSON.parse(body.toString()));
  } catch {
    return {};
  }
}
