import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { expect } from "chai";

import { basicAuth } from "../../support/app/basic-auth.ts";
import { eventually } from "../../support/app/eventually.ts";
import { startGitApp, type TestProject, type TestUser } from "../../support/app/git-app.ts";
import { fetchRequest, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";
import { processes } from "../../support/process/process.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let head: string;

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "large");
  const copy = await workingCopy(parent, "copy");
  // More than fits into a line that nobody reads from.
  await writeFile(path.join(copy, "large.bin"), randomBytes(30_000_000));
  await git(copy, "add", "--all");
  await git(copy, "commit", "--quiet", "--message", "Large");
  await git(copy, "push", "--quiet", app.remote(project, anna), "main");
  head = await git(copy, "rev-parse", "HEAD");
});

/** A fetch; the capability makes it another one than the others. */
function request(number: number): Buffer {
  const body = fetchRequest(head, `server-option=${number}`);
  const lines = [
    `POST ${project.path}.git/git-upload-pack HTTP/1.1`,
    "Host: localhost",
    `Authorization: ${basicAuth("anna", anna.token)}`,
    "Content-Type: application/x-git-upload-pack-request",
    "Git-Protocol: version=2",
    `Content-Length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]);
}

async function uploads(): Promise<number> {
  const all = await processes();
  const ours = all.filter(({ parent }) => parent === process.pid);
  return ours.filter(({ command }) => /^git upload-pack --stateless-rpc/.test(command)).length;
}

describe("requests that are sent before the answer to the first", () => {
  it("are all ended when their line is closed", async () => {
    const { hostname, port } = new URL(app.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.pause().write(Buffer.concat([1, 2, 3, 4].map(request)));
    await eventually(async () => (await uploads()) === 4);
    socket.destroy();
    await eventually(async () => (await uploads()) === 0);
    expect(await uploads()).to.equal(0);
  });
});
