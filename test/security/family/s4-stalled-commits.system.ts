import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";

import { startTestApp } from "../../support/app/app.ts";

/** Commits over REST whose bodies do not come hold no slot that others need, and end. */
const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
await app.givenProject(anna, "forge");
await app.givenProject(boris, "forge");
/** More than the service does of anything at once. */
const stalledCount = 24;

const commitTo = (alias: string, token: string, name: string) =>
  app.post(`/project/${alias}/forge/commit`, {
    token,
    body: {
      branch: "main",
      message: "Add",
      actions: [{ action: "CREATE", path: name, content: "x" }],
    },
  });

/** A commit that says it has more body than it sends. */
async function stalled(): Promise<Socket> {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const lines = [
    "POST /project/anna/forge/commit HTTP/1.1",
    "Host: localhost",
    `Authorization: token ${anna.token}`,
    "Content-Type: application/json",
    "Content-Length: 1000000",
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n{"branch":"main","message":"`);
  return socket;
}

/** Whether the commits of others were answered before the stalled ones were ended. */
async function commitsBeside(attempt: number): Promise<boolean> {
  const sockets = await Promise.all(Array.from({ length: stalledCount }, stalled));
  const answers = sockets.map((socket) => text(socket));
  for (const [alias, token] of [
    ["boris", boris.token],
    ["anna", anna.token],
  ] as const) {
    const answer = await commitTo(alias, token, `beside-${attempt}.txt`);
    expect(answer.status, answer.text).to.equal(200);
  }
  const isBeside = sockets.every((socket) => socket.readyState === "open");
  for (const answer of await Promise.all(answers)) {
    expect(answer)
      .to.match(/^HTTP\/1\.1 408 /)
      .and.contain("body.too_slow");
  }
  return isBeside;
}

describe("security class S4: commits whose bodies stall", () => {
  it("do not hold up other commits, and are ended with a reason", async () => {
    let attempts = 1;
    // On a busy machine the commits of the others may take longer than a body may stall.
    while (!(await commitsBeside(attempts))) {
      attempts += 1;
      expect(attempts, "attempts").to.be.lessThan(6);
    }
    const log = await app.get("/project/anna/forge/commits", { token: anna.token });
    const { totalElements } = log.body["page"] as { totalElements: number };
    expect(totalElements).to.equal(attempts);
  }).timeout(300_000);
});
