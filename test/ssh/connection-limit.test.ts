import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect } from "chai";

import { Door, type DoorLimits } from "../../src/ssh/connection-limit.ts";
import { eventually } from "../support/eventually.ts";

/** As much of a connection as the door looks at, from an address of one's choice. */
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

const doorOf = (limits: Partial<DoorLimits>) =>
  new Door({ connectionsMax: 10, unprovedMax: 10, unprovedMaxPerNetwork: 10, ...limits });
const network = (number: number): string => `10.${number}.0.1`;

describe("the door of SSH", () => {
  it("admits a limited number, authenticated or not", () => {
    const door = doorOf({ connectionsMax: 2 });
    for (const number of [1, 2]) door.enter(from(network(number)))?.proved();
    const third = from(network(3));
    expect(door.enter(third)).to.equal(undefined);
    expect([third.destroyed, door.size]).to.deep.equal([true, 2]);
    door.closeAll();
    expect(door.size).to.equal(0);
    expect(door.enter(from(network(3)))).not.to.equal(undefined);
    door.closeAll();
  });

  it("lets fewer in of those who have not proved who they are, wherever they come from", () => {
    const door = doorOf({ unprovedMax: 2 });
    const [first, second] = [1, 2].map((number) => door.enter(from(network(number))));
    expect(door.enter(from(network(3)))).to.equal(undefined);
    first?.proved();
    // Once is enough: it does not make room for another one.
    first?.proved();
    expect(door.enter(from(network(3)))).not.to.equal(undefined);
    expect(door.enter(from(network(4)))).to.equal(undefined);
    second?.socket.destroy();
    expect(door.enter(from(network(4)))).not.to.equal(undefined);
    door.closeAll();
  });

  it("lets fewer still in of one network, however its addresses are written", () => {
    const door = doorOf({ unprovedMaxPerNetwork: 2 });
    for (const ip of ["10.1.0.1", "::ffff:10.1.0.1"]) {
      expect(door.enter(from(ip))?.ip).to.equal("10.1.0.1");
    }
    expect(door.enter(from("10.1.0.1"))).to.equal(undefined);
    expect(door.enter(from("10.2.0.1"))).not.to.equal(undefined);
    for (const end of ["1", "2"]) expect(door.enter(from(`2001:db8::${end}`))?.ip).to.match(/:/);
    expect(door.enter(from("2001:db8::ffff:3"))).to.equal(undefined);
    door.closeAll();
  });

  it("closes behind who takes too long to prove who they are, and nobody else", async () => {
    const door = doorOf({ proofMs: 20 });
    const [slow, known] = [from(network(1)), from(network(2))];
    door.enter(known)?.proved();
    door.enter(slow);
    await eventually(() => slow.destroyed);
    expect(known.destroyed).to.equal(false);
    door.closeAll();
  });
});
