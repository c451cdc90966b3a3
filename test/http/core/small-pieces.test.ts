import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";

import { listen } from "../../../src/http/core/server.ts";

type Seen = Readonly<{ pieces: number; text: string }>;

const { url, close } = await listen(
  () => (request, response) => {
    const body = { pieces: 0, text: "" };
    request.on("data", (piece: Buffer) => {
      body.pieces += 1;
      body.text += piece.toString("latin1");
    });
    request.on("end", () => {
      response.end(JSON.stringify(body));
    });
  },
  { host: "127.0.0.1", port: 0 },
);
after(close);

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

/** What the listener of a body got that is sent in these chunks. */
async function send(texts: readonly string[]): Promise<Seen> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = [
    ...["POST / HTTP/1.1", "Host: x", "Connection: close", "Transfer-Encoding: chunked"],
    ...["", ""],
  ].join("\r\n");
  socket.write(`${head}${texts.map(chunk).join("")}0\r\n\r\n`);
  const answer = await text(socket);
  return JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1)) as Seen;
}

describe("a body in small pieces", () => {
  it("is passed on in few pieces", async () => {
    const texts = Array.from({ length: 100_000 }, (_, at) => String.fromCharCode(97 + (at % 26)));
    const body = await send(texts);
    expect(body.text).to.equal(texts.join(""));
    expect(body.pieces).to.be.below(1_000);
  });

  it("keeps its order among large ones", async () => {
    const texts = Array.from({ length: 3_000 }, (_, at) => `${at}`.repeat(at % 7 === 0 ? 600 : 1));
    expect((await send(texts)).text).to.equal(texts.join(""));
  });

  it("is read one turn after another where there are several", async () => {
    const texts = Array.from({ length: 40_000 }, (_, at) => `${at % 10}`);
    const all = await Promise.all([send(texts), send(texts), send(texts)]);
    for (const body of all) expect(body.text).to.equal(texts.join(""));
  });
});
