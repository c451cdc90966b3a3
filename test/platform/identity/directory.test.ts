import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { expect } from "chai";

import {
  type DirectorySettings,
  DirectoryUnavailable,
  openDirectory,
} from "../../../src/platform/identity/directory.ts";
import { directoryGuard } from "../../../src/platform/identity/directory-address.ts";
import { givenCertificate } from "../../support/client/certificate.ts";
import { peopleDn, reader, startSlapd } from "../../support/client/slapd.ts";
import { needsProgram } from "../../support/process/program.ts";

needsProgram("slapd", "slapadd");
const guard = directoryGuard(["127.0.0.1/32"]);
const patientMs = 30_000;
const patient = { connectMs: patientMs, operationMs: patientMs };
const directory = openDirectory({ guard, limits: patient });
/** Waits for connections, and not for answers. */
const impatient = openDirectory({ guard, limits: { ...patient, operationMs: 200 } });
const hasty = openDirectory({ guard, limits: { ...patient, connectMs: 200 } });

const slapd = await startSlapd([
  { uid: "anna", password: "anna's", mail: "anna@example.org", givenName: "Anna", sn: "Ivanova" },
  { uid: "boris", password: "boris'" },
  { uid: "twin", password: "one" },
  { uid: "twin", password: "two" },
  { uid: "st*r(x)\\", password: "star" },
  { uid: "Ünal", password: "ü" },
  { uid: "nopassword" },
]);

const settings: DirectorySettings = {
  url: `ldap://127.0.0.1:${slapd.port}`,
  startTls: false,
  caCert: null,
  baseDn: peopleDn,
  bindDn: reader.dn,
  bindPassword: reader.password,
  userFilter: "(&(objectClass=inetOrgPerson)(uid={login}))",
  idAttribute: "entryUUID",
  aliasAttribute: "uid",
  emailAttribute: "mail",
  nameAttribute: "givenName",
  surnameAttribute: "sn",
};
const find = (login: string, over: Partial<DirectorySettings> = {}) =>
  directory.find({ ...settings, ...over }, { login });
const uidOf = async (login: string) => (await find(login))?.alias;

async function unavailable(work: Promise<unknown>, why: RegExp): Promise<void> {
  const error = await work.then(
    () => expect.fail("it was available"),
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(DirectoryUnavailable);
  expect(String(error)).to.match(why);
}

describe("a directory", () => {
  it("is searched for the one who logs in, and reads who they are", async () => {
    const anna = await find("anna");
    expect(anna).to.deep.equal({
      dn: `cn=person-0,${peopleDn}`,
      id: anna?.id,
      alias: "anna",
      email: "anna@example.org",
      name: "Anna",
      surname: "Ivanova",
    });
    expect(Buffer.from(anna?.id ?? "", "base64url").toString()).to.match(/^[0-9a-f-]{36}$/);
    expect(await find("nobody")).to.equal(null);
    expect(await uidOf("Ünal")).to.equal("Ünal");
    expect((await find("boris"))?.email).to.equal(null);
  });

  it("finds an entry again by its id, whatever it is called by then", async () => {
    const anna = await find("anna");
    expect(await directory.find(settings, { id: anna?.id ?? "" })).to.deep.equal(anna);
    const byUid = { ...settings, idAttribute: "uid" };
    const id = (await directory.find(byUid, { login: "st*r(x)\\" }))?.id ?? "";
    expect((await directory.find(byUid, { id }))?.alias).to.equal("st*r(x)\\");
  });

  it("knows nobody whom two entries fit", async () => {
    expect(await find("twin")).to.equal(null);
    expect(await find("anna", { userFilter: "(|(uid={login})(uid=boris))" })).to.equal(null);
  });

  for (const login of [
    "*",
    "a*",
    "anna)(uid=*",
    "*)(objectClass=*",
    "x)(|(uid=anna)",
    "anna\0",
    "\\61nna",
    "anna)(!(uid=x",
    "",
  ]) {
    it(`takes ${JSON.stringify(login)} for a name, not for a filter`, async () => {
      expect(await find(login).catch(() => null)).to.equal(null);
    });
  }

  it("takes every sign of a filter in a name for itself", async () => {
    expect(await uidOf("st*r(x)\\")).to.equal("st*r(x)\\");
  });

  it("proves the right password and no other", async () => {
    const dn = (await find("anna"))?.dn ?? "";
    expect(await directory.authenticate(settings, dn, "anna's")).to.equal(true);
    for (const wrong of ["anna", "ANNA'S", "anna's ", "boris'", "\0", "x".repeat(5_000)]) {
      expect(await directory.authenticate(settings, dn, wrong), wrong.slice(0, 20)).to.equal(false);
    }
  });

  it("proves nobody by an empty password, although the server accepts that bind", async () => {
    for (const login of ["anna", "nopassword"]) {
      const dn = (await find(login))?.dn ?? "";
      expect(await directory.authenticate(settings, dn, "")).to.equal(false);
    }
    const dn = (await find("nopassword"))?.dn ?? "";
    expect(await directory.authenticate(settings, dn, "guess")).to.equal(false);
  });

  it("proves nobody where there is no entry, after the same work", async () => {
    expect(await directory.authenticate(settings, null, "anna's")).to.equal(false);
  });

  it("is not believed to be searchable with a wrong password of the reader's", async () => {
    await unavailable(find("anna", { bindPassword: "wrong" }), /Code: 0x31/);
  });

  it("follows no referral", async () => {
    await unavailable(find("anna", { baseDn: "dc=elsewhere,dc=org" }), /0xa/);
  });
});

describe("a directory behind TLS", () => {
  const tls = { url: `ldaps://127.0.0.1:${slapd.tlsPort}`, caCert: slapd.caCert };
  const startTls = { startTls: true, caCert: slapd.caCert };

  it("is reached by ldaps and by StartTLS, with the authority that was named", async () => {
    for (const over of [tls, startTls]) {
      expect((await find("anna", over))?.alias).to.equal("anna");
      const dn = `cn=person-0,${peopleDn}`;
      expect(await directory.authenticate({ ...settings, ...over }, dn, "anna's")).to.equal(true);
    }
  });

  it("is not believed with a certificate that nobody signed, or another authority", async () => {
    const { cert } = await givenCertificate({ name: "other" });
    for (const over of [tls, startTls]) {
      await unavailable(find("anna", { ...over, caCert: null }), /self-signed/);
      await unavailable(find("anna", { ...over, caCert: cert }), /self-signed|verify/);
    }
  });

  it("is not believed under a name that its certificate does not have", async () => {
    const named = openDirectory({
      guard: directoryGuard([`localhost:${slapd.tlsPort}`]),
      limits: patient,
    });
    const over = { ...settings, ...tls, url: `ldaps://localhost:${slapd.tlsPort}` };
    await unavailable(named.find(over, { login: "anna" }), /altnames|localhost/);
  });
});

describe("a directory that is out of order", () => {
  const servers: Server[] = [];
  after(() => servers.forEach((server) => void server.close()));

  async function listening(answer: (bytes: Buffer, write: (text: Buffer) => void) => void) {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (bytes: Buffer) => answer(bytes, (text) => void socket.write(text)));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    servers.push(server);
    const { port } = server.address() as AddressInfo;
    return { ...settings, url: `ldap://127.0.0.1:${port}` };
  }

  it("is said to be so when nobody listens", async () => {
    // Ports below 1024 are given to no test server.
    const nowhere = { ...settings, url: "ldap://127.0.0.1:1" };
    await unavailable(directory.find(nowhere, { login: "anna" }), /ECONNREFUSED/);
    await unavailable(directory.authenticate(nowhere, "cn=x", "secret"), /ECONNREFUSED/);
  });

  it("is waited for no longer than the limit when it never answers", async () => {
    const silent = await listening(() => undefined);
    const startedAt = performance.now();
    await unavailable(impatient.find(silent, { login: "anna" }), /timed out|closed/);
    await unavailable(impatient.find({ ...silent, startTls: true }, { login: "a" }), /timed out/);
    expect(performance.now() - startedAt).to.be.lessThan(patientMs);
  });

  it("is waited for no longer when it never speaks TLS", async () => {
    const { url } = await listening(() => undefined);
    const tls = { ...settings, url: url.replace("ldap:", "ldaps:") };
    await unavailable(hasty.find(tls, { login: "anna" }), /No connection within/);
  });

  it("does no harm by talking nonsense or by never ending", async () => {
    const nonsense = await listening((_, write) => write(Buffer.from("HTTP/1.1 400 Bad\r\n\r\n")));
    await unavailable(impatient.find(nonsense, { login: "anna" }), /./);
    const flood = await listening((_, write) => {
      const chunk = Buffer.alloc(256 * 1024, 0x30);
      chunk.write("\x30\x84\x7f\xff\xff\xff", "latin1");
      for (let n = 0; n < 8; n += 1) write(chunk);
    });
    await unavailable(directory.find(flood, { login: "anna" }), /./);
  });

  it("does no harm by thousands of answers at once to what was not requested", async () => {
    // A BindResponse (RFC 4511, 4.2.2) without content, to message 9.
    const empty = Buffer.from("30050201096100", "hex");
    const many = await listening((_, write) => {
      write(Buffer.concat(Array.from({ length: 50_000 }, () => empty)));
    });
    await unavailable(impatient.find(many, { login: "anna" }), /./);
  });

  it("is not reached at all where the operator does not allow it", async () => {
    const strict = openDirectory({ guard: directoryGuard(["10.0.0.0/8"]) });
    await unavailable(strict.find(settings, { login: "anna" }), /not allowed/);
    const named = { ...settings, url: `ldap://localhost:${slapd.port}` };
    await unavailable(strict.find(named, { login: "anna" }), /not allowed/);
  });
});

describe("a directory that cannot be trusted", () => {
  const servers: Server[] = [];
  let connections = 0;
  after(() => servers.forEach((server) => void server.close()));
  beforeEach(() => {
    connections = 0;
  });

  /** Agrees to every bind (RFC 4511, 4.2.2). */
  async function agreeing(diagnostic = "") {
    const server = createServer((socket: Socket) => {
      connections += 1;
      socket.on("error", () => undefined);
      socket.on("data", (bytes: Buffer) => {
        // A message's number is in its fifth byte as long as it is short; 0x60 is a bind.
        if (bytes[5] === 0x60) socket.write(bindAgreed(bytes[4] ?? 0, diagnostic));
      });
    }).listen(0, "localhost");
    await once(server, "listening");
    servers.push(server);
    const { port, address } = server.address() as AddressInfo;
    return { port, host: address.includes(":") ? `[${address}]` : address };
  }

  it("proves nobody where there is no entry, whatever it agrees to", async () => {
    const { port } = await agreeing();
    const trusting = openDirectory({ guard: directoryGuard([`localhost:${port}`]) });
    const over = { ...settings, url: `ldap://localhost:${port}` };
    expect(await trusting.authenticate(over, "cn=x", "guess")).to.equal(true);
    expect(await trusting.authenticate(over, null, "guess")).to.equal(false);
  });

  it("is not listened to when it says too much", async () => {
    const { port } = await agreeing("x".repeat(2 * 1024 * 1024));
    const trusting = openDirectory({ guard: directoryGuard([`localhost:${port}`]) });
    const over = { ...settings, url: `ldap://localhost:${port}` };
    await unavailable(trusting.authenticate(over, "cn=x", "guess"), /./);
  });

  for (const named of [true, false]) {
    it(`is not spoken to at ${named ? "a name" : "an address"} that leads where nothing may go`, async () => {
      const { port, host } = await agreeing();
      const address = {
        secure: false,
        host: named ? "localhost" : host.replaceAll(/[[\]]/g, ""),
        port,
      };
      const strict = openDirectory({ guard: { check: () => address, isAllowed: () => false } });
      await unavailable(strict.authenticate(settings, "cn=x", "guess"), /not allowed/);
      if (named) expect(connections).to.equal(0);
    });
  }
});

function bindAgreed(id: number, diagnostic: string): Buffer {
  const sized = (tag: number, content: Buffer): Buffer => {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(content.length);
    return Buffer.concat([Buffer.from([tag, 0x84]), size, content]);
  };
  const success = Buffer.from([0x0a, 1, 0, 0x04, 0]);
  const result = Buffer.concat([success, sized(0x04, Buffer.from(diagnostic))]);
  return sized(0x30, Buffer.concat([Buffer.from([0x02, 1, id]), sized(0x61, result)]));
}
