import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { TLSSocket } from "node:tls";
import { expect } from "chai";

import { type DirectorySettings, openDirectory } from "../../../src/platform/identity/directory.ts";
import { directoryGuard } from "../../../src/platform/identity/directory-address.ts";
import { givenCertificate } from "../../support/client/certificate.ts";

const certificate = await givenCertificate({ name: "directory", san: "IP:127.0.0.1" });
const directory = openDirectory({
  guard: directoryGuard(["127.0.0.1/32"]),
  limits: { connectMs: 30_000, operationMs: 30_000 },
});
const servers: Server[] = [];
after(() => servers.forEach((server) => void server.close()));

/** Tags of RFC 4511, 4.2 and 4.12. */
const tags = { bindRequest: 0x60, bindResponse: 0x61, extendedResponse: 0x78 } as const;
const codes = { success: 0, invalidCredentials: 49 } as const;

function sized(tag: number, content: Buffer, length = content.length): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(length);
  return Buffer.concat([Buffer.from([tag, 0x84]), size, content]);
}

/** An LDAPMessage that says how it went; RFC 4511, 4.1.9. */
function answer(id: number, tag: number, code: number): Buffer {
  const result = Buffer.from([0x0a, 1, code, 0x04, 0, 0x04, 0]);
  return sized(0x30, Buffer.concat([Buffer.from([0x02, 1, id]), sized(tag, result)]));
}

/** The beginning of a success whose diagnostic text is whatever comes next, so many bytes of it. */
function swallowing(id: number, bytes: number): Buffer {
  const text = Buffer.from([0x04, 0x84, 0, 0, 0, bytes]);
  const result = Buffer.concat([Buffer.from([0x0a, 1, codes.success, 0x04, 0]), text]);
  const operation = sized(tags.bindResponse, result, result.length + bytes);
  const content = Buffer.concat([Buffer.from([0x02, 1, id]), operation]);
  return sized(0x30, content, content.length + bytes);
}

/**
 * A directory that refuses every password over TLS, and an attacker on the connection who appends to its last
 * message before TLS begins.
 */
async function directoryWith(slippedIn: Buffer = Buffer.alloc(0)): Promise<DirectorySettings> {
  const server = createServer((plain) => {
    plain.on("error", () => undefined);
    plain.once("data", (request: Buffer) => {
      const agreed = answer(request[4] ?? 0, tags.extendedResponse, codes.success);
      plain.write(Buffer.concat([agreed, slippedIn]));
      const secure = new TLSSocket(plain, { isServer: true, ...certificate });
      secure.on("error", () => undefined);
      secure.on("data", (bytes: Buffer) => {
        const id = bytes[4] ?? 0;
        if (bytes[5] !== tags.bindRequest) return;
        secure.write(answer(id, tags.bindResponse, codes.invalidCredentials));
      });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server);
  const { port } = server.address() as AddressInfo;
  const names = { aliasAttribute: "", emailAttribute: "", nameAttribute: "", surnameAttribute: "" };
  const reading = {
    bindDn: "",
    bindPassword: null,
    userFilter: "(uid={login})",
    idAttribute: "uid",
  };
  const url = `ldap://127.0.0.1:${port}`;
  const tls = { startTls: true, caCert: certificate.cert };
  return { url, ...tls, baseDn: "dc=example,dc=org", ...reading, ...names };
}

const prove = (settings: DirectorySettings) => directory.authenticate(settings, "cn=anna", "guess");

describe("a connection that StartTLS made safe", () => {
  it("gets the refusal of the password from the directory itself", async () => {
    expect(await prove(await directoryWith())).to.equal(false);
  });

  // Message ids of this connection, or counted anew after TLS began.
  for (const id of [1, 2, 3]) {
    it(`lets no beginning from before TLS swallow the answer to message ${id}`, async () => {
      const refusal = answer(id, tags.bindResponse, codes.invalidCredentials).length;
      const settings = await directoryWith(swallowing(id, refusal));
      expect(await prove(settings)).to.equal(false);
    });
  }
});
