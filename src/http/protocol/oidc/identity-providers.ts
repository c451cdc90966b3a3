import { discoverOidc, type OidcMetadata } from "../../../platform/identity/oidc.ts";
import { readSamlSsoUrl } from "../../../platform/identity/saml-reader.ts";
import type { OutboundHttp } from "../../../platform/outbound/http.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { cachedQuery } from "../../core/cached-query.ts";

/** What identity providers publish about themselves, kept for a while. */
export type IdentityProviders = Readonly<{
  /**
   * Where logins at this provider are begun, from its metadata.
   *
   * @throws Refusal 503 `sso.provider_unavailable`
   */
  samlSsoUrl: (provider: Readonly<{ metadataUrl: string; issuer: string }>) => Promise<string>;
  /**
   * What an OpenID provider publishes.
   *
   * @throws Refusal 503 `sso.provider_unavailable`
   */
  oidcMetadata: (
    provider: Readonly<{ issuer: string; plainHttp: boolean }>,
  ) => Promise<OidcMetadata>;
}>;

const lifeMs = 10 * 60_000;
const entriesMax = 100;
const timeoutMs = 5_000;
const metadataBytesMax = 4 * 1024 * 1024;

export function identityProviders(outbound: OutboundHttp): IdentityProviders {
  const ssoUrls = cachedQuery(
    async (key) => {
      const [metadataUrl = "", issuer = ""] = JSON.parse(key) as string[];
      return await fetchSsoUrl(outbound, metadataUrl, issuer);
    },
    { lifeMs, entriesMax },
  );
  const oidc = cachedQuery(
    async (key) => {
      const [issuer = "", plainHttp = false] = JSON.parse(key) as [string, boolean];
      const metadata = await discoverOidc(outbound, { issuer, plainHttp });
      mustBeUsable(metadata, plainHttp);
      return metadata;
    },
    { lifeMs, entriesMax },
  );
  return {
    async oidcMetadata({ issuer, plainHttp }) {
      try {
        return (await oidc.get(JSON.stringify([issuer, plainHttp]))) ?? unavailable();
      } catch (error) {
        return unavailable(error);
      }
    },
    async samlSsoUrl({ metadataUrl, issuer }) {
      try {
        return (await ssoUrls.get(JSON.stringify([metadataUrl, issuer]))) ?? unavailable();
      } catch (error) {
        return unavailable(error);
      }
    },
  };
}

/** The browser is sent there, so it must be an address of the web. */
function mustBeUsable(metadata: OidcMetadata, plainHttp: boolean): void {
  const at = metadata.authorization_endpoint ?? "";
  const { protocol } = new URL(at);
  if (protocol === "https:" || (protocol === "http:" && plainHttp)) return;
  throw new Error(`The authorization endpoint is at ${protocol}`);
}

async function fetchSsoUrl(outbound: OutboundHttp, url: string, issuer: string): Promise<string> {
  const headers = { accept: "application/samlmetadata+xml, application/xml;q=0.9, */*;q=0.1" };
  const limits = { timeoutMs, bodyBytesMax: metadataBytesMax };
  const answer = await outbound.request({ method: "GET", url, headers, ...limits });
  if (answer.status !== 200) throw new Error(`The metadata's address answered ${answer.status}.`);
  if (answer.bodyTruncated) throw new Error("The metadata did not come whole.");
  return await readSamlSsoUrl(answer.body.toString("utf8"), issuer);
}

export function unavailable(cause?: unknown): never {
  const message = "The identity provider cannot be reached at present. Please try again later.";
  const refusal = new Refusal("unavailable", "sso.provider_unavailable", message, {
    retryAfterSeconds: 60,
  });
  refusal.cause = cause;
  throw refusal;
}
