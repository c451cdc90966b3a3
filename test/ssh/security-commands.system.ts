import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { refusedCommands } from "../support/client/refused-command.ts";
import { newKey, registerKey, ssh, sshOptions } from "../support/client/ssh.ts";
import { temporaryDirectory } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("ssh", "ssh-keygen");
const app = await startTestApp({ ssh: {} });
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const key = await newKey(parent, "anna");
await registerKey(app, anna, key);
await app.givenProject(anna, "search");
const options = sshOptions(key, app.sshPort);
const texts = refusedCommands(path.join(parent, "canary"));

describe("security family 6: the command over SSH", () => {
  it("is refused to the real ssh with a reason, and nothing runs", async () => {
    for (const text of texts.filter((each) => /canary|upload-pack '/.test(each))) {
      if (text.includes("\0")) continue;
      const { exitCode, stdout, stderr } = await ssh([...options, "git@127.0.0.1", text]);
      expect(exitCode, text).to.equal(128);
      expect(stdout, text).to.equal("");
      expect(stderr, text).to.contain("only git's commands");
    }
    expect(await readdir(parent)).not.to.include("canary");
  });
});
