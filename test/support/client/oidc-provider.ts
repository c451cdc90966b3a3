import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

export type OidcPerson = Readonly<{
  email?: string;
  /** Some providers send a text. */
  email_verified?: boolean | string;
  preferred_username?: string;
  given_name?: string;
  family_name?: string;
}>;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server whose address is known before it is decided what it answers. */
export async function startServer() {
  const made: { handler?: Handler } = {};
  const server = createServer((request, response) => {
    if (made.handler === undefined) response.writeHead(404).end();
    else made.handler(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    answer: (handler: Handler) => {
      made.handler = handler;
    },
  };
}

export type Server = Awaited<ReturnType<typeof startServer>>;

/** A real provider, which lets everybody in as whom the test says. */
export function oidcProvider(
  server: Server,
  client: Readonly<{ id: string; secret: string; redirectUris: readonly string[] }>,
) {
  const people = new Map<string, OidcPerson>();
  const made = { login: "" };
  const provider = new Provider(server.url, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [...client.redirectUris],
      },
    ],
    pkce: { required: () => true },
    cookies: { keys: [randomUUID()] },
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["preferred_username", "given_name", "family_name"],
    },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, ...people.get(id) }),
    }),
    // Everybody agrees to everything.
    loadExistingGrant: async ({ oidc }) => {
      const { clientId } = oidc.client ?? {};
      const { accountId } = oidc.session ?? {};
      if (clientId === undefined || accountId === undefined) return undefined;
      const grant = new provider.Grant({ clientId, accountId });
      grant.addOIDCScope("openid email profile");
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  server.answer((request, response) => {
    if (!request.url?.startsWith("/interaction/")) return void answer(request, response);
    const result = { login: { accountId: made.login } };
    void provider.interactionFinished(request, response, result);
  });

  return {
    issuer: server.url,
    /** @returns where it sends the browser back to */
    async logIn(url: string, sub: string): Promise<string> {
      made.login = sub;
      return await throughPages(server.url, url);
    },
    person(over: OidcPerson = {}, sub: string = randomUUID()): string {
      people.set(sub, over);
      return sub;
    },
  };
}

/** Goes through the provider's pages as a browser does, until they lead away. */
async function throughPages(base: string, url: string): Promise<string> {
  const cookies = new Map<string, string>();
  let at = url;
  for (let n = 0; n < 10 && at.startsWith(base); n += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const shown = await fetch(at, { redirect: "manual", headers: { cookie } });
    for (const line of shown.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = shown.headers.get("location");
    if (location === null) throw new Error(`the provider answered ${await shown.text()}`);
    at = new URL(location, at).href;
  }
  return at;
}
