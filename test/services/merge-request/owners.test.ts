import { createHash, randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Repository } from "../../../src/git/repository.ts";
import { asCaller } from "../../../src/platform/caller.ts";
import type { Comparison } from "../../../src/services/merge-request/compare.ts";
import { ownerDemands } from "../../../src/services/merge-request/owners.ts";

/** Of one caller at once; see ParserTask. */
const perCallerMax = 8;

/** A repository whose CODEOWNERS is large enough to be matched in a process. */
function ownedBy(owner: string, read: (text: string) => Buffer | undefined = Buffer.from) {
  const text = Array.from({ length: 1_200 }, (_, n) => `/dir-${n}/ @${owner}\n`).join("");
  const id = createHash("sha1").update(text).digest("hex");
  const objects = {
    entry: async () => ({ name: "CODEOWNERS", id, kind: "file" }),
    info: async () => ({ id, type: "blob", bytes: text.length }),
    blob: async () => read(text),
  };
  return { objects } as unknown as Repository;
}

const comparison: Comparison = {
  baseId: null,
  baseTree: undefined,
  sourceTree: randomUUID(),
  paths: ["dir-7/a.txt"],
};
const send = async (repository: Repository) => ownerDemands(repository, "head", comparison);

describe("asking for the owners of files", () => {
  it("remembers no lack of an answer that came of asking for too much at once", async () => {
    const crowd = Array.from({ length: perCallerMax }, () => ownedBy(randomUUID()));
    const more = ownedBy("anna");
    const answers = await asCaller("somebody", async () => {
      const queries = crowd.map(send);
      // They have taken their places once their files were read.
      await new Promise((resolve) => setImmediate(resolve));
      return Promise.all([send(more), ...queries]);
    });
    const [turnedAway, ...others] = answers;
    expect(turnedAway).to.include({ code: "code_owners.no_answer" });
    for (const other of others) expect(other).to.have.property("demands");
    const { demands } = await send(more);
    expect(demands?.flatMap(({ owners }) => owners)).to.deep.equal(["@anna"]);
  });

  it("takes a file that cannot be read for no file without owners, and remembers that for a while", async () => {
    const missing = ownedBy("boris", () => undefined);
    expect(await send(missing)).to.include({ code: "code_owners.no_answer" });
    expect(await send(ownedBy("boris"))).to.include({ code: "code_owners.no_answer" });
  });
});
