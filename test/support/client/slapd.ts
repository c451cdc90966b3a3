import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { eventually } from "../app/eventually.ts";
import { removal } from "../app/removal.ts";
import { freePort } from "../process/free-port.ts";
import { isInstalled, programPath } from "../process/program.ts";
import { givenCertificate } from "./certificate.ts";

const run = promisify(execFile);

const searched = { PATH: programPath };

export type Person = Readonly<{
  uid: string;
  password?: string;
  mail?: string;
  givenName?: string;
  sn?: string;
}>;

export const suffix = "dc=example,dc=org";
export const peopleDn = `ou=people,${suffix}`;
export const reader = { dn: `cn=reader,${suffix}`, password: "reader's secret" } as const;

export type Slapd = Readonly<{
  port: number;
  tlsPort: number;
  /** What signed the certificate, for 127.0.0.1 alone. */
  caCert: string;
  stop: () => Promise<void>;
}>;

/**
 * OpenLDAP's server with its own configuration, database and ports, stopped when the file ends. It
 * accepts a bind with a name and no password, as many do, and refers to nowhere for other suffixes.
 *
 * Where OpenLDAP is not installed the ports are closed ones: files that load with them skip their tests
 * by `needsProgram("slapd", "slapadd")`.
 */
export async function startSlapd(people: readonly Person[]): Promise<Slapd> {
  const { cert, key } = await givenCertificate({ name: "slapd", san: "IP:127.0.0.1" });
  if (!isInstalled("slapd")) return { port: 1, tlsPort: 1, caCert: cert, stop: async () => {} };
  const directory = await mkdtemp(path.join(tmpdir(), "ledgerforge-slapd-"));
  const at = (name: string): string => path.join(directory, name);
  await mkdir(at("database"));
  await writeFile(at("cert.pem"), cert);
  await writeFile(at("key.pem"), key);
  await writeFile(at("slapd.conf"), configuration(at));
  await writeFile(at("people.ldif"), ldif(people));
  await run("slapadd", ["-f", at("slapd.conf"), "-l", at("people.ldif")], { env: searched });

  const [port, tlsPort] = [await freePort(), await freePort()];
  const urls = `ldap://127.0.0.1:${port} ldaps://127.0.0.1:${tlsPort}`;
  const child = spawn("slapd", ["-d", "0", "-f", at("slapd.conf"), "-h", urls], {
    env: searched,
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill();
    await ended;
    await rm(directory, removal);
  };
  after(stop);
  await eventually(() => accepts(port), 60_000);
  return { port, tlsPort, caCert: cert, stop };
}

function configuration(at: (name: string) => string): string {
  return [
    ...["core", "cosine", "inetorgperson"].map((name) => `include /etc/ldap/schema/${name}.schema`),
    "modulepath /usr/lib/ldap",
    "moduleload back_mdb",
    `pidfile ${at("pid")}`,
    `TLSCertificateFile ${at("cert.pem")}`,
    `TLSCertificateKeyFile ${at("key.pem")}`,
    "allow bind_anon_dn",
    "referral ldap://127.0.0.1:1/",
    "database mdb",
    `suffix "${suffix}"`,
    `directory ${at("database")}`,
    "index uid eq",
    "access to attrs=userPassword by anonymous auth by * none",
    `access to * by dn.base="${reader.dn}" read by anonymous auth by * none`,
    "",
  ].join("\n");
}

function ldif(people: readonly Person[]): string {
  const entry = (dn: string, fields: Readonly<Record<string, string | readonly string[]>>) =>
    [
      `dn: ${dn}`,
      ...Object.entries(fields).flatMap(([name, values]) =>
        // Base64, so that no value is taken for syntax.
        [values].flat().map((value) => `${name}:: ${Buffer.from(value).toString("base64")}`),
      ),
    ].join("\n");
  const known = people.map(({ uid, password, mail, givenName, sn = "Person" }, index) =>
    entry(`cn=person-${index},${peopleDn}`, {
      objectClass: ["inetOrgPerson"],
      sn,
      uid,
      ...(password === undefined ? {} : { userPassword: password }),
      ...(mail === undefined ? {} : { mail }),
      ...(givenName === undefined ? {} : { givenName }),
    }),
  );
  const { dn, password: userPassword } = reader;
  const role = { objectClass: ["organizationalRole", "simpleSecurityObject"], userPassword };
  return [
    entry(suffix, { objectClass: ["dcObject", "organization"], o: "Example" }),
    entry(peopleDn, { objectClass: "organizationalUnit" }),
    entry(dn, role),
    ...known,
    "",
  ].join("\n\n");
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
