import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { gitWithKey, newKey, registerKey, sshRemote } from "../support/client/ssh.ts";
import { commit, temporaryDirectory, tryGit, workingCopy } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("ssh", "ssh-keygen");
const app = await startTestApp({ ssh: {} });
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const key = await newKey(parent, "anna");
await registerKey(app, anna, key);
const asAnna = gitWithKey(key, app.sshPort);

const must = async (cwd: string, ...args: string[]) => {
  const ran = await tryGit(cwd, args, asAnna);
  expect(ran.exitCode, ran.stderr).to.equal(0);
};

describe("git over SSH", () => {
  it("carries a large push and gives it back whole", async () => {
    const large = await workingCopy(parent, "large");
    const bytes = randomBytes(6 * 1024 ** 2);
    await commit(large, "Large", { "large.bin": bytes });
    await app.givenProject(anna, "large");
    await must(large, "push", "-q", sshRemote("anna", "large"), "main");
    const into = path.join(parent, "large-again");
    await must(parent, "clone", "-q", sshRemote("anna", "large"), into);
    expect(Buffer.compare(await readFile(path.join(into, "large.bin")), bytes)).to.equal(0);
  });
});
