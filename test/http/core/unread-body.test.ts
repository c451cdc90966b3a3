import { execFile } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { request } from "node:http";
import net from "node:net";
import { promisify } from "node:util";
import { expect } from "chai";
import { z } from "zod";

import { route } from "../../../src/http/core/route.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { serveRoutes } from "../../support/app/machinery.ts";
import { needsProgram } from "../../support/process/program.ts";

const run = promisify(execFile);
const megabytes = (count: number): number => count * 1024 ** 2;
const declared = { tag: "test", scope: "none", access: "user", errors: [] } as const;

const handled = new EventEmitter();
const refused = async (): Promise<never> => {
  throw new Refusal("forbidden", "upload.refused", "No uploads here.");
};
const routes = [
  route({
    ...declared,
    method: "post",
    path: "/upload",
    operationId: "upload",
    summary: "Refuse before a byte is read",
    upload: "files",
    reply: z.object({}),
    handle: refused,
  }),
  route({
    ...declared,
    method: "post",
    path: "/json",
    operationId: "json",
    summary: "Read at most 1 MiB",
    body: z.object({ text: z.string() }),
    reply: z.object({}),
    handle: async () => ({}),
  }),
  route({
    ...declared,
    method: "delete",
    path: "/nothing",
    operationId: "deleteNothing",
    summary: "Answer without reading a body",
    status: 204,
    reply: "empty",
    handle: async () => void handled.emit("deleted"),
  }),
  route({
    ...declared,
    method: "post",
    path: "/mirrored",
    operationId: "mirrored",
    summary: "Answer the body while it comes",
    upload: "files",
    reply: "stream",
    handle: async ({ request: { incoming } }) => {
      return { body: incoming(megabytes(10)).body, type: "application/octet-stream" };
    },
  }),
];

const sizes = [1_000, 200_000, megabytes(3)];
const lingerMsMax = 300;
const { url } = await serveRoutes(routes);
const { hostname, port } = new URL(url);
const hasty = await serveRoutes(routes, { linger: { smallBytesMax: 1_000, lingerMsMax } });

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

  it("reaches a client that sends more than may be read", async () => {
    const statuses = await statusesOf(10, async () => {
      const body = JSON.stringify({ text: "x".repeat(megabytes(3)) });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${url}/json`, { method: "POST", headers, body });
      await answer.text();
      return answer.status;
    });
    expect(statuses).to.deep.equal([413]);
  });

  it("reaches a client that sends in chunks and reads when it has sent all", async () => {
    const outgoing = request(`${url}/upload`, { method: "POST" });
    const answered = once(outgoing, "response");
    for (let sent = 0; sent < 20; sent += 1) {
      if (!outgoing.write(Buffer.alloc(100_000))) await once(outgoing, "drain");
    }
    outgoing.end();
    const [response] = await answered;
    expect(response.statusCode).to.equal(403);
    expect(response.headers.connection).to.equal("close");
    response.resume();
  });
});

describe("an answer that is made of the body", () => {
  it("gets all of it", async () => {
    const sent = Buffer.alloc(megabytes(2), "some ");
    const answer = await fetch(`${url}/mirrored`, { method: "POST", body: sent });
    expect(Buffer.from(await answer.arrayBuffer()).equals(sent)).to.equal(true);
  });
});

describe("a connection after an answer before the body was read", () => {
  it("is used again when the body was small", async () => {
    const socket = net.connect(Number(port), hostname);
    let received = "";
    socket.on("data", (data) => {
      received += data.toString();
    });
    const head = `DELETE /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n`;
    const deleted = once(handled, "deleted");
    socket.write(head);
    await deleted;
    socket.write(`12345${head}12345`);
    while (received.split("204 No Content").length < 3) await once(socket, "data");
    expect(received).not.to.contain("Connection: close");
    socket.destroy();
  });

  for (const length of [1_000, megabytes(100)]) {
    it(`ends when a body of ${length} bytes does not come in time`, async () => {
      const begun = Date.now();
      const socket = net.connect(Number(new URL(hasty.url).port), hostname);
      let received = "";
      socket.on("data", (data) => {
        received += data.toString();
      });
      const head = `POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
      socket.write(`${head}some`);
      await once(socket, "close");
      expect(received)
        .to.match(/^HTTP\/1.1 403 /)
        .and.to.contain("Connection: close");
      expect(Date.now() - begun).to.be.within(lingerMsMax - 100, lingerMsMax + 20_000);
    });
  }
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
