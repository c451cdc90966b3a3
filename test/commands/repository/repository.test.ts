import { expect } from "chai";

import { explainRefs, type PushedRef } from "../../../src/commands/repository/repository.ts";

const ref = "refs/heads/main";
const at = (objectId?: string): ReadonlyMap<string, string> =>
  new Map(objectId === undefined ? [] : [[ref, objectId]]);

const push = (pushId: string, before: string | null, after: string | null): PushedRef => ({
  ...{ pushId, ref, before, after, done: true },
});
const unheard = (...of: Parameters<typeof push>): PushedRef => ({ ...push(...of), done: false });

/** `a→b by p1`, in order. */
const explained = async (...of: Parameters<typeof explainRefs>): Promise<readonly string[]> =>
  (await explainRefs(...of)).map(
    ({ before, after, push: by }) =>
      `${before ?? "none"}→${after ?? "none"} by ${by?.pushId ?? "system"}`,
  );

describe("explaining how refs changed", () => {
  it("finds nothing where log and repository agree", async () => {
    expect(await explained(at("a"), at("a"), [])).to.deep.equal([]);
    expect(await explained(at(), at(), [unheard("p1", null, "a")])).to.deep.equal([]);
  });

  it("records a creation, an update and a deletion", async () => {
    expect(await explained(at(), at("a"), [push("p1", null, "a")])).to.deep.equal(["none→a by p1"]);
    expect(await explained(at("a"), at("b"), [push("p1", "a", "b")])).to.deep.equal(["a→b by p1"]);
    expect(await explained(at("a"), at(), [push("p1", "a", null)])).to.deep.equal(["a→none by p1"]);
  });

  it("records every confirmed change, also of those that later ones undid", async () => {
    const pushed = [push("p1", "a", "b"), push("p2", "b", "a"), push("p3", "a", "c")];
    const all = ["a→b by p1", "b→a by p2", "a→c by p3"];

    expect(await explained(at("a"), at("c"), pushed)).to.deep.equal(all);
    expect(await explained(at("a"), at("c"), [pushed[2]!, pushed[0]!, pushed[1]!])).to.deep.equal(
      all,
    );
  });

  it("records a confirmed round trip that left no trace in the repository", async () => {
    const pushed = [push("p1", "a", "b"), push("p2", "b", "a")];
    expect(await explained(at("a"), at("a"), pushed)).to.deep.equal(["a→b by p1", "b→a by p2"]);
  });

  it("believes an unconfirmed change only when the repository shows it", async () => {
    expect(await explained(at("a"), at("b"), [unheard("p1", "a", "b")])).to.deep.equal([
      "a→b by p1",
    ]);
    expect(await explained(at("a"), at("a"), [unheard("p1", "a", "b")])).to.deep.equal([]);
  });

  it("goes through several unconfirmed changes when that is how the ref got there", async () => {
    const pushed = [unheard("p1", "a", "b"), unheard("p2", "b", "c"), unheard("p3", "a", "d")];
    expect(await explained(at("a"), at("c"), pushed)).to.deep.equal(["a→b by p1", "b→c by p2"]);
  });

  it("prefers the push whose change git confirmed over one that requested the same", async () => {
    const pushed = [unheard("p1", "a", "b"), push("p2", "a", "b")];
    expect(await explained(at("a"), at("b"), pushed)).to.deep.equal(["a→b by p2"]);
  });

  it("names the system for what nobody announced", async () => {
    expect(await explained(at("a"), at("b"), [])).to.deep.equal(["a→b by system"]);
    expect(await explained(at("a"), at("c"), [push("p1", "a", "b")])).to.deep.equal([
      "a→b by p1",
      "b→c by system",
    ]);
  });

  it("leaves out a push that changed nothing", async () => {
    expect(await explained(at("a"), at("a"), [push("p1", "a", "a")])).to.deep.equal([]);
    expect(await explained(at(), at(), [push("p1", null, null)])).to.deep.equal([]);
  });

  it("keeps refs apart", async () => {
    const other = { ...push("p2", null, "z"), ref: "refs/tags/v1" };
    const changes = await explainRefs(
      at("a"),
      new Map([
        [ref, "b"],
        ["refs/tags/v1", "z"],
      ]),
      [other, push("p1", "a", "b")],
    );
    expect(changes.map((change) => [change.ref, change.push?.pushId])).to.deep.equal([
      [ref, "p1"],
      ["refs/tags/v1", "p2"],
    ]);
  });

  it("stays quick when one ref was changed very often at once", async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `c${index}`);
    const pushed = ids.slice(1).map((id, index) => push(`p${index}`, ids[index]!, id));
    expect(await explained(at("c0"), at("c199"), pushed)).to.have.length(199);
  });
});
