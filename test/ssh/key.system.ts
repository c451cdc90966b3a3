import { generateKeyPairSync } from "node:crypto";
import { copyFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp, type TestUser } from "../support/app/app.ts";
import { eventually } from "../support/app/eventually.ts";
import {
  gitWithKey,
  type KeyKind,
  newKey,
  registerKey,
  ssh,
  sshOptions,
  sshRemote,
  startSshClient,
} from "../support/client/ssh.ts";
import { virtualDevice } from "../support/client/virtual-device.ts";
import { temporaryDirectory, tryGit } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

let clock: (() => Date) | undefined;
const now = () => clock?.() ?? new Date();
needsProgram("ssh", "ssh-keygen");
const app = await startTestApp({ ssh: { now } });
const parent = await temporaryDirectory();
const root = await app.givenUser("root", { admin: true });

let counter = 0;
let anna: TestUser;
let remote = "";
beforeEach(async () => {
  counter += 1;
  anna = await app.givenUser(`anna-${counter}`);
  await app.givenProject(anna, "project");
  remote = sshRemote(anna.alias, "project");
});
afterEach(() => {
  clock = undefined;
});

const mayRead = async (file: string) =>
  (await tryGit(parent, ["ls-remote", remote], gitWithKey(file, app.sshPort))).exitCode === 0;

describe("a key", () => {
  const kinds: readonly KeyKind[] = [
    ["ed25519"],
    ["ecdsa", 256],
    ["ecdsa", 384],
    ["ecdsa", 521],
    ["rsa", 2048],
    ["rsa", 3072],
  ];
  for (const kind of kinds) {
    it(`of type ${kind.join(" ")} opens its account, and one not registered does not`, async () => {
      const file = await newKey(parent, `key-${kind.join("-")}`, kind);
      expect(await mayRead(file)).to.equal(false);
      await registerKey(app, anna, file);
      expect(await mayRead(file)).to.equal(true);
    });
  }

  for (const kind of ["ed25519", "ecdsa"] as const) {
    it(`in a security device (${kind}) opens its account when the user touches it`, async () => {
      const device = await virtualDevice(parent, kind);
      const body = { publicKey: device.line, title: "device" };
      await app.post("/user/settings/add-ssh-key", { token: anna.token, body });
      const environment = {
        GIT_SSH_COMMAND: [
          ...["ssh", "-F", "/dev/null", "-p", String(app.sshPort), "-o", "BatchMode=yes"],
          ...["-o", `IdentityAgent=${device.socket}`, "-o", "StrictHostKeyChecking=no"],
          ...["-o", `UserKnownHostsFile=${parent}/device.hosts`, "-o", "LogLevel=ERROR"],
        ].join(" "),
      };
      const read = () => tryGit(parent, ["ls-remote", remote], environment);
      const first = await read();
      expect(first.exitCode, first.stderr).to.equal(0);
      device.touched.yes = false;
      expect((await read()).exitCode).not.to.equal(0);
    });
  }

  it("that is too weak is refused, and another one is tried", async () => {
    const weak = await newKey(parent, "weak", ["rsa", 1024]);
    const file = await newKey(parent, "beside-weak");
    await registerKey(app, anna, file);
    const both = ["-i", weak, ...sshOptions(file, app.sshPort)].join(" ");
    const read = await tryGit(parent, ["ls-remote", remote], { GIT_SSH_COMMAND: `ssh ${both}` });
    expect(read.exitCode, read.stderr).to.equal(0);
  });

  it("of type rsa is not taken with SHA-1", async () => {
    const file = await newKey(parent, "sha1", ["rsa", 2048]);
    await registerKey(app, anna, file);
    const old = ["-o", "PubkeyAcceptedAlgorithms=ssh-rsa"];
    const options = [...old, ...sshOptions(file, app.sshPort), "git@127.0.0.1"];
    const { exitCode, stderr } = await ssh([...options, "git-upload-pack 'x/y.git'"]);
    expect(exitCode).to.equal(255);
    expect(stderr).to.match(/denied|no mutual signature/i);
  });

  it("that was only offered opens nothing: the one that signed counts", async () => {
    const bob = await app.givenUser(`bob-${counter}`);
    const [annas, bobs] = [await newKey(parent, "offered"), await newKey(parent, "signing")];
    await registerKey(app, anna, annas);
    await registerKey(app, bob, bobs);
    // The public half alone is enough to offer it.
    const { privateKey } = generateKeyPairSync("ed25519");
    await writeFile(
      path.join(parent, "offer-only"),
      privateKey.export({ type: "pkcs8", format: "pem" }),
      { mode: 0o600 },
    );
    const options = sshOptions(bobs, app.sshPort);
    const identities = ["-o", `IdentityFile=${annas}.pub`, "-o", "IdentitiesOnly=yes"];
    const { stderr } = await ssh([...identities, ...options, "-T", "git@127.0.0.1"]);
    expect(stderr).to.contain(`Hello bob-${counter}`);
  });

  it("that has expired or was deleted opens nothing any more", async () => {
    const file = await newKey(parent, `ends-${counter}`);
    await registerKey(app, anna, file, { expiresAt: "2099-01-01T00:00:00Z" });
    expect(await mayRead(file)).to.equal(true);
    clock = () => new Date("2099-01-01T00:00:01Z");
    expect(await mayRead(file)).to.equal(false);
    clock = undefined;
    const other = await newKey(parent, `deleted-${counter}`);
    const id = await registerKey(app, anna, other);
    expect(await mayRead(other)).to.equal(true);
    await app.delete(`/user/settings/ssh-key/${id}`, { token: anna.token });
    expect(await mayRead(other)).to.equal(false);
  });

  it("with another login name opens nothing: every user is git", async () => {
    const file = await newKey(parent, `name-${counter}`);
    await registerKey(app, anna, file);
    const options = sshOptions(file, app.sshPort);
    for (const name of ["root", anna.alias, "git ", "GIT"]) {
      const { exitCode } = await ssh([...options, "-l", name, "127.0.0.1", "-T"]);
      expect(exitCode, name).to.equal(255);
    }
  });
});

describe("a connection that runs", () => {
  /** A push that never says what it wants: the connection stays open until the server cuts it. */
  async function open(file: string) {
    const args = [...sshOptions(file, app.sshPort), "git@127.0.0.1"];
    const child = startSshClient([...args, `git-receive-pack '${anna.alias}/project.git'`]);
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    await eventually(() => output.endsWith("0000"));
    return child;
  }

  it("is cut when its user is blocked", async () => {
    const file = await newKey(parent, `ban-${counter}`);
    await registerKey(app, anna, file);
    const child = await open(file);
    const account = `/admin/user/${anna.id}/account`;
    expect((await app.post(`${account}/ban`, { token: root.token })).status).to.equal(200);
    await eventually(() => child.exitCode !== null);
    expect(await mayRead(file)).to.equal(false);
    await app.post(`${account}/unban`, { token: root.token });
    expect(await mayRead(file)).to.equal(true);
  });

  it("begins nothing more when its key has expired meanwhile", async () => {
    const file = await newKey(parent, `old-${counter}`);
    await registerKey(app, anna, file, { expiresAt: "2099-01-01T00:00:00Z" });
    const control = ["-S", `${file}.sock`];
    const to = [...sshOptions(file, app.sshPort), "git@127.0.0.1"];
    const master = startSshClient([...control, "-M", "-N", ...to]);
    const command = `git-upload-pack '${anna.alias}/project.git'`;
    // On the connection that is there already, as git does with ControlMaster.
    const again = () => ssh([...control, ...to, command], "0000");
    await eventually(async () => (await ssh([...control, "-O", "check", ...to])).exitCode === 0);
    expect((await again()).exitCode).to.equal(0);
    clock = () => new Date("2099-01-01T00:00:01Z");
    const refused = await again();
    expect(refused.exitCode).to.equal(128);
    expect(refused.stderr).to.contain("Your SSH key has expired");
    master.kill();
  });

  it("is cut when its key is deleted, and no other", async () => {
    const [file, other] = [`cut-${counter}`, `kept-${counter}`];
    const keys = [await newKey(parent, file), await newKey(parent, other)] as const;
    const id = await registerKey(app, anna, keys[0]);
    await registerKey(app, anna, keys[1]);
    const [cut, kept] = [await open(keys[0]), await open(keys[1])];
    await app.delete(`/user/settings/ssh-key/${id}`, { token: anna.token });
    await eventually(() => cut.exitCode !== null);
    expect(kept.exitCode).to.equal(null);
    kept.kill();
  });
});

describe("the host keys", () => {
  it("are for their owner alone, and stay the same", async () => {
    for (const kind of ["ed25519", "ecdsa", "rsa"]) {
      const { mode } = await stat(path.join(app.dataDir, "ssh", `host-${kind}`));
      expect(mode & 0o777).to.equal(0o600);
    }
    const { hostKeys } = await import("../../src/ssh/host-key.ts");
    const fresh = await temporaryDirectory();
    const many = await Promise.all([hostKeys(fresh), hostKeys(fresh), hostKeys(fresh)]);
    for (const keys of [...many, await hostKeys(fresh)]) expect(keys).to.deep.equal(many[0]);
  });

  const shake = async (algorithm: string) => {
    const file = path.join(parent, `host-${counter}-${algorithm}`);
    await copyFile(await annasKey(), file);
    const options = ["-o", `HostKeyAlgorithms=${algorithm}`, "-o", "FingerprintHash=sha256"];
    const args = [...sshOptions(file, app.sshPort), ...options, "git@127.0.0.1"];
    const { exitCode, stderr } = await ssh([...args, "git-upload-pack 'nobody/nothing.git'"]);
    return { known: exitCode === 128, stderr };
  };
  const annasKey = async () => {
    const file = await newKey(parent, `shaking-${counter}-${Math.random()}`);
    await registerKey(app, anna, file);
    return file;
  };

  for (const algorithm of ["ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256"]) {
    it(`are known to clients that want ${algorithm}`, async () => {
      const { known, stderr } = await shake(algorithm);
      expect(known, stderr).to.equal(true);
    });
  }

  it("sign nothing by SHA-1", async () => {
    expect((await shake("ssh-rsa")).known).to.equal(false);
  });
});
