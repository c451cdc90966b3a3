import { createServer, type ServerResponse } from "node:http";
import { createServer as createSilentServer } from "node:net";

import { browser } from "../test/support/client/browser.ts";
import { givenCertificate } from "../test/support/client/certificate.ts";
import type { BenchService } from "./service.ts";

type Door = Readonly<{
  name: string;
  flood: (signal: AbortSignal, connection: number) => Promise<unknown>;
}>;

export type Outside = Readonly<{
  bench: BenchService;
  /** Ports of this machine that the service may reach. */
  ports: Readonly<{ http: number; ldap: number }>;
  /** Sends as the flooder; refusals are part of the flood. */
  get: (path: string, signal: AbortSignal) => Promise<unknown>;
  /** Sends as an administrator, or as the flooder; has to succeed. */
  made: (
    by: "admin" | "flooder",
    path: string,
    body: object,
  ) => Promise<Readonly<Record<string, unknown>>>;
}>;

/** Servers of others that the service talks to: they drip, never answer, or answer without end. */
export async function outsideDoors(outside: Outside): Promise<readonly Door[]> {
  const { bench, ports, get, made } = outside;
  const url = `http://localhost:${ports.http}`;
  await listen(ports);
  await enableLogins(outside);
  const login = async (kind: "oidc" | "saml" | "ldap", body: object): Promise<string> => {
    const { uuid } = await made("admin", `/admin/${kind}`, { name: kind, ...body });
    const switched = await fetch(
      `${bench.service.url}/admin/${kind}/${uuid}/change-status?isEnabled=true`,
      { method: "PUT", headers: { authorization: bench.authorization } },
    );
    if (!switched.ok) throw new Error(`${kind} was not enabled: ${await switched.text()}`);
    return `/login/${kind}/${uuid}`;
  };
  const { cert } = await givenCertificate();
  const saml = { idpIssuer: url, idpInitiatedSsoUrl: `${url}/sso`, idpMetadataUrl: "", cert };
  const [drip, endless, acs, directory] = [
    await login("oidc", { issuer: `${url}/drip`, clientId: "a" }),
    await login("oidc", { issuer: `${url}/endless`, clientId: "a" }),
    await login("saml", saml),
    await login("ldap", {
      url: `ldap://localhost:${ports.ldap}`,
      plaintext: true,
      baseDn: "dc=example,dc=org",
    }),
  ];
  for (const packageType of ["npm", "nuget"]) {
    for (const way of ["drip", "endless"]) {
      const repositoryName = `${packageType}-${way}`;
      const proxySettings = { url: `${url}/${way}/v3/index.json` };
      const proxy = { type: "PROXY", repositoryName, packageType, proxySettings };
      await made("flooder", "/project/flood/own/repositories", proxy);
    }
  }
  const base = "/registry/project/flood/own/repository";
  const page = (path: string): Promise<unknown> => browser(bench.service.url).open(path);
  const nested = Buffer.from(`${"<a b='c'>".repeat(9_000)}${"</a>".repeat(9_000)}`);
  return [
    { name: "13: a provider of OpenID that drips", flood: () => page(drip) },
    { name: "13: a provider of OpenID without end", flood: () => page(endless) },
    {
      name: "14: nested answers of SAML",
      flood: (signal) => {
        const body = new URLSearchParams({ SAMLResponse: nested.toString("base64") });
        return fetch(`${bench.service.url}${acs}/acs`, { method: "POST", body, signal });
      },
    },
    {
      name: "15: a directory that never answers",
      flood: async (_signal, n) => {
        const person = browser(bench.service.url);
        const form = await person.open(directory);
        await person.submit(form, directory, { login: `user-${n}`, password: "wrong" });
      },
    },
    ...["npm", "nuget"].flatMap((type) =>
      ["drip", "endless"].map((way) => ({
        name: `16: an external registry of ${type}: ${way}`,
        flood: (signal: AbortSignal, n: number) =>
          get(
            type === "npm"
              ? `${base}/npm-${way}/package-${n}-${Math.random()}`
              : `${base}/nuget-${way}/flat/package-${n}-${Math.random()}/index.json`,
            signal,
          ),
      })),
    ),
  ];
}

async function enableLogins({ made }: Outside): Promise<void> {
  const ways = { isEnableBasic: true, isEnableLdap: true, isEnableSaml: true, isEnableOidc: true };
  await made("admin", "/admin/settings/login-page", { loginPageUrl: "BASIC", ...ways });
}

async function listen({ http, ldap }: Outside["ports"]): Promise<void> {
  const silent = createSilentServer((socket) => socket.on("error", () => undefined).resume());
  const server = createServer((request, answer) => {
    answer.writeHead(200, { "content-type": "application/json" });
    if (request.url?.startsWith("/drip") === true) drip(answer);
    else endless(answer);
  });
  await new Promise<void>((resolve) => silent.listen(ldap, "localhost", resolve));
  await new Promise<void>((resolve) => server.listen(http, "localhost", resolve));
  silent.unref();
  server.unref();
}

/** Answers a byte at a time and never ends. */
export function drip(answer: ServerResponse): void {
  const timer = setInterval(() => answer.write(" "), 200).unref();
  answer.once("close", () => clearInterval(timer));
}

/** A list that goes on for as long as it is read. */
function endless(answer: ServerResponse): void {
  const piece = `{"versions":[${'"1.0.0",'.repeat(8_000)}`;
  const more = (): void => {
    while (!answer.destroyed && answer.write(piece));
  };
  answer.on("drain", more).on("error", () => undefined);
  more();
}
