import { type AddressInfo, createServer, type Socket } from "node:net";
import { status } from "@grpc/grpc-js";
import { expect } from "chai";

import { StoreUnavailable } from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { eventually } from "../../support/app/eventually.ts";
import { appended, startShim } from "../../support/store/eventstoredb-shim.ts";
import { newEvent, newStream } from "../../support/store/test-event.ts";

describe("the port to the event store, when the server goes away", () => {
  it("bounds a ping to a server that accepts and never answers", async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
    await eventually(() => silent.listening);
    const { port } = silent.address() as AddressInfo;
    const unanswered = openEventStore(`esdb://127.0.0.1:${port}?tls=false`);
    await expect(unanswered.ping(200)).to.be.rejectedWith(StoreUnavailable);
    await unanswered.close();
    silent.close();
    for (const socket of sockets) socket.destroy();
  });
});

describe("the answer to an append that was already reported as failed", () => {
  it("is dropped, and later appends of the same connection are answered", async () => {
    const shim = await startShim();
    const failing = await startShim();
    const mine = openEventStore(shim.url);
    const other = openEventStore(failing.url);
    try {
      const late: (() => void)[] = [];
      shim.append((call) =>
        call.on("data", (request) => {
          const answer = () => void call.write(appended(request, 7n));
          if (late.length === 0) late.push(answer);
          else answer();
        }),
      );
      failing.append((call) =>
        call.once("data", () => call.emit("error", { code: status.UNAVAILABLE, details: "away" })),
      );
      const failed = mine.append(newStream(), "none", [newEvent()]).catch((error) => error);
      await eventually(() => late.length === 1);
      // The client gives up the appends of all its connections when one of them fails.
      const lost = other.append(newStream(), "none", [newEvent()]);
      await expect(lost).to.be.rejectedWith(StoreUnavailable);
      expect(await failed).to.be.instanceOf(StoreUnavailable);
      late[0]?.();
      const next = await mine.append(newStream(), "none", [newEvent()]);
      expect(next.position).to.equal(7n);
    } finally {
      await Promise.all([mine.close(), other.close()]);
    }
  });
});
