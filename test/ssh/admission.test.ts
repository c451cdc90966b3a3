import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect } from "chai";

import { Admission, type AdmissionLimits } from "../../src/ssh/admission.ts";
import { eventually } from "../support/app/eventually.ts";

/** The fields of a connection that the limit reads, from a chosen address. */
function from(remoteAddress: string): Socket {
  const socket = new EventEmitter() as EventEmitter & Record<string, unknown>;
  socket["remoteAddress"] = remoteAddress;
  socket["destroyed"] = false;
  socket["destroy"] = () => {
    if (socket["destroyed"] === true) return;
    socket["destroyed"] = true;
    socket.emit("close");
  };
  return socket as unknown as Socket;
}

const limitOf = (limits: Partial<AdmissionLimits>) =>
  new Admission({
    connectionsMax: 10,
    unauthenticatedMax: 10,
    unauthenticatedMaxPerNetwork: 10,
    ...limits,
  });
const network = (number: number): string => `10.${number}.0.1`;

describe("the connection limit of SSH", () => {
  it("admits a limited number, authenticated or not", () => {
    const limit = limitOf({ connectionsMax: 2 });
    for (const number of [1, 2]) limit.enter(from(network(number)))?.authenticated();
    const third = from(network(3));
    expect(limit.enter(third)).to.equal(undefined);
    expect([third.destroyed, limit.size]).to.deep.equal([true, 2]);
    limit.closeAll();
    expect(limit.size).to.equal(0);
    expect(limit.enter(from(network(3)))).not.to.equal(undefined);
    limit.closeAll();
  });

  it("admits fewer connections that are not authenticated, wherever they come from", () => {
    const limit = limitOf({ unauthenticatedMax: 2 });
    const [first, second] = [1, 2].map((number) => limit.enter(from(network(number))));
    expect(limit.enter(from(network(3)))).to.equal(undefined);
    first?.authenticated();
    // Once is enough: it does not make room for another one.
    first?.authenticated();
    expect(limit.enter(from(network(3)))).not.to.equal(undefined);
    expect(limit.enter(from(network(4)))).to.equal(undefined);
    second?.socket.destroy();
    expect(limit.enter(from(network(4)))).not.to.equal(undefined);
    limit.closeAll();
  });

  it("lets fewer still in of one network, however its addresses are written", () => {
    const limit = limitOf({ unauthenticatedMaxPerNetwork: 2 });
    for (const ip of ["10.1.0.1", "::ffff:10.1.0.1"]) {
      expect(limit.enter(from(ip))?.ip).to.equal("10.1.0.1");
    }
    expect(limit.enter(from("10.1.0.1"))).to.equal(undefined);
    expect(limit.enter(from("10.2.0.1"))).not.to.equal(undefined);
    for (const end of ["1", "2"]) expect(limit.enter(from(`2001:db8::${end}`))?.ip).to.match(/:/);
    expect(limit.enter(from("2001:db8::ffff:3"))).to.equal(undefined);
    limit.closeAll();
  });

  it("closes a connection whose authentication takes too long, and no other", async () => {
    const limit = limitOf({ authenticationMs: 20 });
    const [slow, known] = [from(network(1)), from(network(2))];
    limit.enter(known)?.authenticated();
    limit.enter(slow);
    await eventually(() => slow.destroyed);
    expect(known.destroyed).to.equal(false);
    limit.closeAll();
  });
});
