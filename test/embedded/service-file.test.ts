import { mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { ConfigError, readSettings } from "../../src/config.ts";
import { ensureSecretFile, readSecretFile } from "../../src/embedded/secret-file.ts";
import {
  configOfRunning,
  removeServiceFile,
  secretKeyFile,
  writeServiceFile,
} from "../../src/embedded/service-file.ts";

const stores = { databaseUrl: "postgres://u:p@x/y", eventStoreUrl: "esdb://127.0.0.1:1" };

describe("the addresses of a running service", () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), "lf-service-"));
    await mkdir(path.join(dataDir, "run"));
  });
  after(() => rm(dataDir, { recursive: true }));

  it("are missing when no service runs there, which the message explains", async () => {
    await expect(configOfRunning(readSettings({ DATA_DIR: dataDir }))).to.be.rejectedWith(
      ConfigError,
      /DATABASE_URL is required[\s\S]*No service runs on/,
    );
  });

  it("are found by the other commands, with the secret key", async () => {
    const secretKey = await ensureSecretFile(secretKeyFile(dataDir), 32);
    await writeServiceFile(dataDir, stores);
    const config = await configOfRunning(readSettings({ DATA_DIR: dataDir }));
    expect(config).to.include({ ...stores, secretKey });
    expect((await stat(path.join(dataDir, "run", "service.json"))).mode & 0o777).to.equal(0o600);
  });

  it("give way to the environment", async () => {
    const environment = { DATA_DIR: dataDir, DATABASE_URL: "postgres://elsewhere/z" };
    const config = await configOfRunning(readSettings(environment));
    expect(config.databaseUrl).to.equal("postgres://elsewhere/z");
    expect(config.eventStoreUrl).to.equal(stores.eventStoreUrl);
  });

  it("are gone once the service has ended", async () => {
    await removeServiceFile(dataDir);
    await expect(configOfRunning(readSettings({ DATA_DIR: dataDir }))).to.be.rejectedWith(
      /EVENTSTORE_URL is required/,
    );
  });
});

describe("a secret file", () => {
  let dir: string;
  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "lf-secret-"));
  });
  after(() => rm(dir, { recursive: true }));

  it("is made once, at random, for its owner alone", async () => {
    const [one, two] = [path.join(dir, "one"), path.join(dir, "two")];
    const secret = await ensureSecretFile(one, 32);
    expect(Buffer.from(secret, "base64url")).to.have.length(32);
    expect(await ensureSecretFile(one, 32)).to.equal(secret);
    expect(await ensureSecretFile(two, 32)).to.not.equal(secret);
    expect((await stat(one)).mode & 0o777).to.equal(0o600);
    expect(await readFile(one, "utf8")).to.equal(`${secret}\n`);
  });

  it("is one when several processes make it at the same moment", async () => {
    const file = path.join(dir, "raced");
    const made = await Promise.all(Array.from({ length: 8 }, () => ensureSecretFile(file, 32)));
    expect([...new Set(made)]).to.deep.equal([(await readFile(file, "utf8")).trim()]);
    expect((await readdir(dir)).filter((name) => name.startsWith("raced"))).to.have.length(1);
  });

  it("is undefined where there is none, and fails where it cannot be read", async () => {
    expect(await readSecretFile(path.join(dir, "none"))).to.equal(undefined);
    await expect(readSecretFile(dir)).to.be.rejectedWith(/EISDIR/);
  });
});
