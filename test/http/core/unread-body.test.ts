import { once } from "node:events";
import { request } from "node:http";
import net from "node:net";
import { expect } from "chai";

import { serveRoutes } from "../../support/app/machinery.ts";
import { handled, megabytes, unreadRoutes } from "../../support/client/unread-routes.ts";

const lingerMsMax = 300;
const { url } = await serveRoutes(unreadRoutes);
const { hostname, port } = new URL(url);
const hasty = await serveRoutes(unreadRoutes, { linger: { smallBytesMax: 1_000, lingerMsMax } });

describe("an answer before the body was read", () => {
  it("reaches a client that sends more than may be read", async () => {
    for (let time = 0; time < 3; time += 1) {
      const body = JSON.stringify({ text: "x".repeat(megabytes(3)) });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${url}/json`, { method: "POST", headers, body });
      await answer.text();
      expect(answer.status).to.equal(413);
    }
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
