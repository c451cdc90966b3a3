import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import {
  ConfigError,
  type Environment,
  readSettings,
  requireStores,
  variableNames,
} from "../src/config.ts";

const secretKey = "k".repeat(32);
const stores = {
  DATABASE_URL: "postgres://u:p@db/x",
  EVENTSTORE_URL: "esdb://store:2113?tls=false",
  SECRET_KEY: secretKey,
};

describe("the configuration", () => {
  it("needs nothing set", () => {
    const settings = readSettings({});
    expect(settings).to.include({ host: "127.0.0.1", port: 8080, logLevel: "info" });
    expect(settings).to.include({ blobBytesMax: 15_728_640, recursionDepthMax: 10 });
    expect(settings.dataDir).to.equal(path.resolve("data"));
    expect(settings.admin).to.deep.equal({
      alias: "admin",
      email: "admin@localhost",
      password: undefined,
    });
    expect(settings.outboundAllow).to.deep.equal([]);
  });

  it("takes an S3 address for large files, and says what is wrong with another", () => {
    const BLOB_URL = "s3://bucket/x?endpoint=http://127.0.0.1:9000";
    expect(readSettings({ BLOB_URL }).blobUrl).to.equal(BLOB_URL);
    expect(() => readSettings({ BLOB_URL: "s3://k:s@bucket" })).to.throw(
      "BLOB_URL must not hold credentials",
    );
    expect(() => readSettings({ MAX_LFS_OBJECT_BYTES: "0" })).to.throw("must be from 1");
  });

  it("lets SSH listen where HTTP does, unless SSH_HOST is set", () => {
    expect(readSettings({ HOST: "0.0.0.0" })).to.include({ sshHost: "0.0.0.0", sshPort: 2222 });
    const elsewhere = { SSH_HOST: "::1", SSH_PORT: "22", PUBLIC_SSH_HOST: "git.example.org" };
    expect(readSettings(elsewhere)).to.include({
      sshHost: "::1",
      sshPort: 22,
      publicSshHost: "git.example.org",
    });
  });

  it("shows the port where SSH listens, unless PUBLIC_SSH_PORT is set", () => {
    const shown = (environment: Record<string, string>) => readSettings(environment).publicSshPort;
    expect(shown({})).to.equal(2222);
    expect(shown({ SSH_PORT: "22" })).to.equal(22);
    expect(shown({ SSH_PORT: "0" })).to.equal(undefined);
    expect(shown({ SSH_PORT: "2022", PUBLIC_SSH_PORT: "22" })).to.equal(22);
    expect(() => shown({ PUBLIC_SSH_PORT: "0" })).to.throw("PUBLIC_SSH_PORT must be from 1");
  });

  it("takes an empty variable as unset", () => {
    expect(readSettings({ PORT: "", DATABASE_URL: " ", ADMIN_PASSWORD: "" })).to.deep.equal(
      readSettings({}),
    );
  });

  it("refuses a first password that begins like a token, with which nobody could log in", () => {
    const message = failure(() => readSettings({ ADMIN_PASSWORD: "lfat_password" }));
    expect(message).to.include("ADMIN_PASSWORD must not begin like a token");
  });

  it("reads what is set", () => {
    const settings = readSettings({
      ...stores,
      PORT: "9000",
      PUBLIC_URL: "https://git.example.org/base/",
      REDIS_URL: "redis://cache:6379",
      OUTBOUND_ALLOW: "10.0.0.0/8, ci.internal:8443 fd00::/8",
      MAX_BLOB_BYTES: "1000",
    });
    expect(settings).to.include({ port: 9000, publicUrl: "https://git.example.org/base" });
    expect(settings).to.include({ redisUrl: "redis://cache:6379", blobBytesMax: 1000 });
    expect(settings.ldapAllow).to.equal(undefined);
    expect(readSettings({ LDAP_ALLOW: "::1, dc:1389" }).ldapAllow).to.deep.equal([
      "::1",
      "dc:1389",
    ]);
    expect(settings.outboundAllow).to.deep.equal(["10.0.0.0/8", "ci.internal:8443", "fd00::/8"]);
  });

  for (const [address, problem] of [
    ["esdb://n1:2113,n2:2113,n3:2113?tls=false", undefined],
    ["esdb+discover://user:hunter2@cluster.example.org", undefined],
    ["esdb://user:hunter2@", "must have host at position 20"],
    ["esdb://user:hunter2@h:hunter2", "must have port number at position 22"],
    ["esdb://h:2113?tls=maybe", "must have true or false at position 18"],
    ["esdb://h:2113?throwOnAppendFailure=false", "must leave out throwOnAppendFailure"],
  ]) {
    it(`reads the address of the event store as its client does: ${address}`, () => {
      const read = () => readSettings({ EVENTSTORE_URL: address });
      if (problem === undefined) return expect(read().eventStoreUrl).to.equal(address);
      const message = failure(read);
      expect(message).to.equal(`Bad configuration:\n  EVENTSTORE_URL ${problem}`);
    });
  }

  it("names every bad variable at once, and none of their values", () => {
    const bad: Environment = {
      PORT: "80a",
      PUBLIC_URL: "ftp://example.org",
      DATABASE_URL: "mysql://root:hunter2@db/x",
      EVENTSTORE_URL: "store:2113",
      REDIS_URL: "http://cache",
      SECRET_KEY: "hunter2",
      ADMIN_ALIAS: "../admin",
      ADMIN_EMAIL: "nobody",
      ADMIN_PASSWORD: "hunter2",
      OUTBOUND_ALLOW: "10.0.0.0/99",
      LDAP_ALLOW: "everywhere",
      SSH_PORT: "ssh",
      PUBLIC_SSH_HOST: "git.example.org:22",
      LOG_LEVEL: "loud",
      MAX_BLOB_BYTES: "-1",
      MAX_RECURSION_DEPTH: "1e3",
    };
    const message = failure(() => readSettings(bad));
    for (const name of Object.keys(bad)) expect(message).to.match(new RegExp(`^  ${name} `, "m"));
    expect(message).to.not.include("hunter2");
  });

  for (const port of ["65536", "-1", "1.5", "0x50", "９"]) {
    it(`refuses the port ${port}`, () => {
      expect(failure(() => readSettings({ PORT: port }))).to.include("PORT must be");
    });
  }

  it("has every variable that is documented, and no other", async () => {
    const text = await readFile("docs/operations.md", "utf8");
    const rows = text.split("\n").filter((line) => /^\| `[A-Z]/.test(line));
    const documented = rows.flatMap((row) => row.split("|")[1]?.match(/[A-Z][A-Z_]+/g) ?? []);
    expect([...variableNames].sort()).to.deep.equal(documented.sort());
  });
});

describe("the stores of a role", () => {
  it("are all required, and all missing ones are named at once", () => {
    const message = failure(() => requireStores(readSettings({})));
    for (const name of Object.keys(stores)) expect(message).to.include(`${name} is required`);
    expect(failure(() => requireStores(readSettings({ ...stores, SECRET_KEY: "" })))).to.equal(
      "Bad configuration:\n  SECRET_KEY is required",
    );
  });

  for (const [host, url] of [
    ["127.0.0.1", "http://127.0.0.1:81"],
    ["0.0.0.0", "http://localhost:81"],
    ["::1", "http://[::1]:81"],
  ] as const) {
    it(`are reached by ${url} when HTTP listens on ${host}`, () => {
      const settings = readSettings({ ...stores, HOST: host, PORT: "81" });
      expect(requireStores(settings).publicUrl).to.equal(url);
    });
  }
});

function failure(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("nothing was refused");
}
