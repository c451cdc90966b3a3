import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";

import { openClient } from "../../src/agent/client.ts";
import type { LogFile } from "../../src/agent/log-file.ts";
import { TraceUpload } from "../../src/agent/trace-upload.ts";
import { eventually } from "../support/app/eventually.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const answers: Answer[] = [];
let requests = 0;
const server = createServer((request, response) => {
  requests += 1;
  request.resume().once("end", () => answers.shift()?.(request, response));
});
before(async () => once(server.listen(0, "127.0.0.1"), "listening"));
after(() => server.close());

const lost: Answer = ({ socket }) => void socket.destroy();
const answer =
  (status: number): Answer =>
  (_, response) =>
    void response.writeHead(status, { connection: "close" }).end();

/** An answer that sets the seconds between pieces. */
const every =
  (seconds: number): Answer =>
  ({ method }, response) => {
    const status = method === "PATCH" ? 202 : 200;
    const headers = { connection: "close", "x-gitlab-trace-update-interval": String(seconds) };
    response.writeHead(status, headers).end();
  };

function traceOf(log: LogFile, onAbort = (): void => undefined): TraceUpload {
  const { port } = server.address() as AddressInfo;
  return new TraceUpload({
    client: openClient(`http://127.0.0.1:${port}`, "test"),
    job: { id: 7, token: "token" },
    ...{ log, info: {}, onAbort, onCancel: () => undefined },
  });
}

/** Confirms a job to a service that answers so. */
async function confirmed(...given: readonly Answer[]) {
  answers.splice(0, Infinity, ...given);
  requests = 0;
  let aborted = false;
  const trace = traceOf({ size: 0 } as LogFile, () => {
    aborted = true;
  });
  const isTaken = await trace.confirm(new AbortController().signal);
  if (isTaken) {
    answers.push(answer(200));
    await trace.finish({ state: "success" }, 5_000);
  }
  return { isTaken, requests, aborted };
}

describe("an agent whose job writes a log", () => {
  it("sends the first piece before the interval of later ones is over", async () => {
    answers.splice(0, Infinity, every(15), every(15), answer(202), answer(200));
    requests = 0;
    const trace = traceOf({ size: 1, read: () => Buffer.from("x") } as unknown as LogFile);
    await trace.confirm(new AbortController().signal);
    await eventually(() => requests === 2, 8_000);
    await trace.finish({ state: "success" }, 5_000);
  });
});

describe("an agent that confirms its job", () => {
  it("tries again when the answer gets lost, or the service is away", async () => {
    const taken = { isTaken: true, aborted: false };
    expect(await confirmed(lost, answer(200))).to.deep.equal({ ...taken, requests: 3 });
    expect(await confirmed(answer(503), answer(200))).to.deep.equal({ ...taken, requests: 3 });
  });

  it("does not when the service says that the run is over", async () => {
    const over = { isTaken: false, requests: 1, aborted: true };
    expect(await confirmed(answer(403), answer(200))).to.deep.equal(over);
  });
});
