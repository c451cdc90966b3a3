import { expect } from "chai";

import { Seats } from "../../../src/workers/pipeline/seat.ts";
import { eventually } from "../../support/app/eventually.ts";

describe("the seats of pipelines that are created", () => {
  const { signal } = new AbortController();

  function given(limits: ConstructorParameters<typeof Seats>[0]) {
    const seats = new Seats(limits);
    const running: string[] = [];
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const sit = (user: string, name: string, until = signal): Promise<void> =>
      seats.run(
        user,
        () => {
          begun.push(name);
          running.push(name);
          return new Promise<void>((resolve) => ends.set(name, resolve));
        },
        until,
      );
    const end = (name: string) => {
      running.splice(running.indexOf(name), 1);
      ends.get(name)?.();
    };
    return { begun, running, sit, end };
  }

  it("go to the user who has the fewest, and to tasks of one user in their order", async () => {
    const { begun, running, sit, end } = given({ seats: 4, ofUser: 2, waitingOfUser: 9 });
    const ofAnna = ["a1", "a2", "a3", "a4"].map((name) => sit("anna", name));
    const ofBob = ["b1", "b2", "b3"].map((name) => sit("bob", name));
    const ofEve = sit("eve", "e1");
    await eventually(() => begun.length === 4);
    expect(running).to.have.members(["a1", "a2", "b1", "b2"]);
    end("a2");
    await eventually(() => begun.length === 5);
    expect(begun[4]).to.equal("e1");
    for (const [count, name] of ["a1", "b1", "a3", "e1", "b2", "b3", "a4"].entries()) {
      end(name);
      const expected = Math.min(8, 6 + count);
      await eventually(() => begun.length >= expected);
    }
    await Promise.all([...ofAnna, ...ofBob, ofEve]);
    expect(begun.filter((name) => name.startsWith("a"))).to.deep.equal(["a1", "a2", "a3", "a4"]);
  });

  it("are refused to a user of whom too many wait, and to no other", async () => {
    const { begun, sit, end } = given({ seats: 2, ofUser: 1, waitingOfUser: 2 });
    const first = sit("anna", "a1");
    const second = sit("anna", "a2");
    await expect(sit("anna", "a3")).to.be.rejectedWith("Too many pipeline files");
    const other = sit("bob", "b1");
    await eventually(() => begun.length === 2);
    end("a1");
    await eventually(() => begun.length === 3);
    end("a2");
    end("b1");
    await Promise.all([first, second, other]);
  });

  it("are left by those who wait when the process ends", async () => {
    const { begun, sit, end } = given({ seats: 1, ofUser: 1, waitingOfUser: 9 });
    const ending = new AbortController();
    const first = sit("anna", "a1", ending.signal);
    const second = sit("anna", "a2", ending.signal);
    await eventually(() => begun.length === 1);
    ending.abort(new Error("The process ends"));
    await expect(second).to.be.rejectedWith("The process ends");
    end("a1");
    await first;
    const third = sit("anna", "a3");
    await eventually(() => begun.length === 2);
    end("a3");
    await third;
    expect(begun).to.deep.equal(["a1", "a3"]);
  });

  it("are free again after tasks that fail", async () => {
    const seats = new Seats({ seats: 2, ofUser: 1, waitingOfUser: 9 });
    const failing = Array.from({ length: 8 }, (_, index) =>
      seats.run(
        "anna",
        () => {
          if (index % 2 === 0) throw new Error("failed at once");
          return Promise.reject(new Error("failed later"));
        },
        signal,
      ),
    );
    for (const { status } of await Promise.allSettled(failing)) expect(status).to.equal("rejected");
    for (const user of ["anna", "bob"]) {
      expect(await seats.run(user, async () => user, signal)).to.equal(user);
    }
  });
});
