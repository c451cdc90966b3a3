import { once } from "node:events";
import { Duplex } from "node:stream";
import { expect } from "chai";

import { keepGate, type PushGate } from "../../../src/git/push/gate.ts";

const gitDir = "/data/one.git";

/** What the hook reads after it sent where the objects of the push are. */
async function answered(objects: string, gate: PushGate): Promise<string> {
  const said: string[] = [];
  const line = new Duplex({
    read: () => undefined,
    write: (chunk, _encoding, done) => {
      said.push(String(chunk));
      done();
    },
  });
  keepGate(line, gitDir, gate);
  line.push(`${objects}\n`);
  await once(line, "finish");
  return said.join("");
}

const open: PushGate = async () => [];

describe("the gate of a push", () => {
  it("decides by the objects in the repository, or without any", async () => {
    const objects = `${gitDir}/objects/tmp_objdir-incoming-a`;
    const given: unknown[] = [];
    const gate: PushGate = async (quarantine) => {
      given.push(quarantine);
      return [];
    };
    for (const place of [objects, ""]) expect(await answered(place, gate)).to.equal("go\n\n");
    expect(given).to.deep.equal([{ gitDir, objects }, undefined]);
  });

  it("stops a push whose objects are outside of the repository", async () => {
    for (const place of ["/data/two.git/objects", `${gitDir}/../two.git`, "/data", "/"]) {
      expect(await answered(place, open), place).to.match(/^stop\n/);
    }
  });

  it("gives each reason in a line of its own, without control characters", async () => {
    const gate: PushGate = async () => ["main is protected", "a\u001b[31m\nb"];
    expect(await answered("", gate)).to.equal("stop\nmain is protected\na [31m b\n\n");
  });

  it("stops a push when it fails", async () => {
    const gate: PushGate = async () => Promise.reject(new Error("no database"));
    expect(await answered("", gate)).to.match(/^stop\n.*Try again/);
  });
});
