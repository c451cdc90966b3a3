import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "chai";

import { serveRoutes } from "../../support/app/machinery.ts";
import { megabytes, unreadRoutes } from "../../support/client/unread-routes.ts";
import { needsProgram } from "../../support/process/program.ts";

const run = promisify(execFile);
const sizes = [1_000, 200_000, megabytes(3)];
const { url } = await serveRoutes(unreadRoutes);
const { hostname, port } = new URL(url);

async function statusesOf(times: number, send: () => Promise<number>): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < times; time += 1) statuses.push(await send());
  return [...new Set(statuses)];
}

describe("an answer before the body was read", () => {
  for (const bytes of sizes) {
    it(`reaches fetch, which sends ${bytes} bytes`, async () => {
      // In a process of its own: in ours, the two ends of the line would take turns.
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", node(bytes)]);
      expect(stdout.trim()).to.equal("[403]");
    });
  }

  describe("in Python", () => {
    needsProgram("python3");
    for (const bytes of sizes) {
      it(`reaches Python's http.client, which sends ${bytes} bytes`, async () => {
        const { stdout } = await run("python3", ["-c", python(bytes)]);
        expect(stdout.trim()).to.equal("[403]");
      });
    }
  });

  describe("in curl", () => {
    needsProgram("curl");
    for (const bytes of sizes) {
      it(`reaches curl, which sends ${bytes} bytes`, async () => {
        const command = `head -c ${bytes} /dev/zero | curl -sS -H Expect: --data-binary @- \
          -o /dev/null -w '%{http_code}' ${url}/upload`;
        const statuses = await statusesOf(5, async () => {
          return Number((await run("sh", ["-c", command])).stdout);
        });
        expect(statuses).to.deep.equal([403]);
      });
    }
  });
});

function node(bytes: number): string {
  return `
    const statuses = new Set();
    for (let time = 0; time < 40; time += 1) {
      const body = new FormData();
      body.append("files", new Blob([Buffer.alloc(${bytes})]), "file.bin");
      const answer = await fetch("${url}/upload", { method: "POST", body });
      await answer.text();
      statuses.add(answer.status);
    }
    console.log(JSON.stringify([...statuses]));`;
}

/** Sends the whole body before it looks for the answer. */
function python(bytes: number): string {
  return [
    "import http.client",
    "statuses = set()",
    "for _ in range(20):",
    `    line = http.client.HTTPConnection("${hostname}", ${port})`,
    `    line.request("POST", "/upload", bytes(${bytes}))`,
    "    statuses.add(line.getresponse().status)",
    "print(sorted(statuses))",
  ].join("\n");
}
