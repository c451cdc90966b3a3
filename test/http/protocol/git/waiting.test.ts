import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect } from "chai";
import { packet } from "../../../../src/git/pkt-line.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { startGitApp, type TestProject, type TestUser } from "../../../support/app/git-app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";
import { processes } from "../../../support/process/process.ts";

/** One slot: all other requests wait. */
const app = await startGitApp({ slots: { total: 1 } });
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "search");
  const copy = await workingCopy(parent, "copy");
  await commit(copy, "One", { "a.txt": "a\n" });
  await git(copy, "push", "--quiet", app.remote(project, anna), "main");
});

function open(service: string, body: string, length = body.length): Socket {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  const lines = [
    `POST ${project.path}.git/git-${service} HTTP/1.1`,
    "Host: localhost",
    `Authorization: ${basicAuth("anna", anna.token)}`,
    `Content-Type: application/x-git-${service}-request`,
    `Content-Length: ${length}`,
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  return socket;
}

const command = packet(`${"0".repeat(40)} ${"1".repeat(40)} refs/heads/x\0report-status`);
const packPrograms = async () =>
  (await processes()).filter(
    ({ parent, command }) => parent === process.pid && /(?:upload|receive)-pack/.test(command),
  );

describe("a client that leaves while it waits for a slot", () => {
  for (const [service, body] of [
    ["upload-pack", "0000"],
    ["receive-pack", "0000"],
  ] as const) {
    it(`leaves none behind that is taken for ever, by ${service}`, async () => {
      // A push whose pack does not come holds the only slot.
      const holding = open("receive-pack", `${command}0000`, 1_000);
      await eventually(async () => (await packPrograms()).length === 1);
      const waiting = open(service, body);
      await once(waiting, "connect");
      waiting.destroy();
      holding.destroy();

      const head = await git(parent, "ls-remote", app.remote(project, anna), "main");
      expect(head).to.contain("refs/heads/main");
      await eventually(async () => (await packPrograms()).length === 0);
    });
  }
});
