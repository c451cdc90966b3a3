import type { ProxySettings } from "../../../../events/registry/repository.ts";
import type { OutboundStream } from "../../../../platform/outbound/http.ts";
import { OutboundRefused } from "../../../../platform/outbound/url.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { withoutTrailing } from "../../../../platform/trim.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import type { Deps } from "../../../core/deps.ts";
import { HttpRefusal } from "../../../core/errors.ts";

const redirectsMax = 5;
const firstByteMs = 30_000;
const idleMs = 30_000;
const redirects = new Set([301, 302, 303, 307, 308]);

/** A repository that represents an external registry. */
export type ProxyRepository = RegistryRepositoryRow & Readonly<{ settings: ProxySettings }>;

/** @throws Refusal 404 for another kind of repository */
export function proxyOf(row: RegistryRepositoryRow): ProxyRepository {
  const { settings } = row;
  if (settings.type === "PROXY") return { ...row, settings };
  throw notThere();
}

/** Of a path below the external registry. */
export function upstreamUrl({ settings: { url } }: ProxyRepository, path: string): string {
  return `${withoutTrailing(url, "/")}/${path}`;
}

export type Upstream = OutboundStream & Readonly<{ status: 200 | 304 }>;

/** How a registry that wants more than the credentials of the proxy is logged in to. */
export type UpstreamLogin = Readonly<{
  /** `Authorization` to begin with. */
  begin: () => Promise<string | undefined>;
  /** The same, for a challenge (`WWW-Authenticate`) of the proxy's own origin; undefined when there is none. */
  answer: (challenge: string) => Promise<string | undefined>;
}>;

export type UpstreamOrder = Readonly<{
  url: string;
  headers: Readonly<Record<string, string>>;
  login?: UpstreamLogin | undefined;
}>;

/** The external registry does not answer: at all, or for the requested path. */
export class UpstreamDown extends HttpRefusal {
  constructor(message: string) {
    super(502, "registry.upstream_failed", message);
  }
}

/**
 * Queries the external registry, following redirects. The credentials of the proxy go to its own origin alone, and
 * every address on the way is held against the rules of outbound requests.
 *
 * @throws Refusal 404 when it has no such thing, or denies it to a login for that thing alone; UpstreamDown when it
 *   cannot be reached or answers 5xx; HttpRefusal 502 for everything else
 */
export async function requestUpstream(
  proxy: ProxyRepository,
  { url, headers, login }: UpstreamOrder,
  signal: AbortSignal,
  deps: Pick<Deps, "outbound" | "vault">,
): Promise<Upstream> {
  const { origin: own, protocol } = new URL(proxy.settings.url);
  let authorization = await (login === undefined ? credentialsOf(proxy, deps) : login.begin());
  let mayLogIn = login !== undefined;
  let isLoggedIn = false;
  let at = url;
  for (let hops = 0; hops <= redirectsMax; hops += 1) {
    // Documents name addresses as well as redirects do.
    if (protocol === "https:" && !/^https:/i.test(at)) {
      throw failed("The external registry sends to where there is no TLS.");
    }
    const isOwn = URL.canParse(at) && new URL(at).origin === own;
    const sent = { ...headers, "accept-encoding": "identity", "user-agent": "ledgerforge" };
    const order = {
      url: at,
      headers: isOwn && authorization !== undefined ? { ...sent, authorization } : sent,
      ...{ firstByteMs, idleMs, signal },
    };
    const answer = await opened(order, isOwn, deps);
    const { status, headers: answerHeaders, body } = answer;
    if (status === 200 || status === 304) return { ...answer, status };
    body.on("error", () => undefined).destroy();
    if (status === 401 && isOwn && mayLogIn) {
      mayLogIn = false;
      authorization = await login?.answer(answerHeaders["www-authenticate"] ?? "");
      isLoggedIn = authorization !== undefined;
      if (isLoggedIn) continue;
    }
    // Where one logs in for each image, there is no other answer for one that is not there.
    const isDenied = (status === 401 || status === 403) && isOwn && login !== undefined;
    if (isDenied && (isLoggedIn || !proxy.settings.token)) throw notThere();
    if (status === 404 || status === 410) throw notThere();
    const location = redirects.has(status) ? answerHeaders["location"] : undefined;
    if (status >= 500 && isOwn) throw new UpstreamDown(`The external registry answered ${status}.`);
    if (location === undefined || !URL.canParse(location, at)) {
      throw failed(`The external registry answered ${status}.`);
    }
    const next = new URL(location, at);
    if (new URL(at).protocol === "https:" && next.protocol !== "https:") {
      throw failed("The external registry sends to where there is no TLS.");
    }
    at = next.href;
  }
  throw failed("The external registry redirects without end.");
}

async function opened(
  order: Parameters<Deps["outbound"]["open"]>[0],
  isOwn: boolean,
  { outbound }: Pick<Deps, "outbound">,
): Promise<OutboundStream> {
  try {
    return await outbound.open(order);
  } catch (error) {
    if (error instanceof OutboundRefused) throw failed(error.message);
    const message = "The external registry cannot be reached.";
    throw isOwn ? new UpstreamDown(message) : failed(message);
  }
}

/** `Authorization` of the proxy's own credentials: Basic with a name, else Bearer. */
export async function credentialsOf(
  { settings: { username, token } }: ProxyRepository,
  { vault }: Pick<Deps, "vault">,
): Promise<string | undefined> {
  const [name, secret] = await Promise.all(
    [username, token].map(async (sealed) => sealed && (await vault.open(sealed))),
  );
  if (!secret) return undefined;
  if (!name) return `Bearer ${secret}`;
  return `Basic ${Buffer.from(`${name}:${secret}`).toString("base64")}`;
}

export function notThere(): Refusal {
  const message = "The external registry has no such file or package.";
  return new Refusal("not_found", "registry.upstream_not_found", message);
}

export function failed(message: string): HttpRefusal {
  return new HttpRefusal(502, "registry.upstream_failed", message);
}
