import { expect } from "chai";

import { eventually } from "../../../support/app/eventually.ts";
import { optionWorld } from "../../../support/git/option-world.ts";

const given = await optionWorld();

describe("push options", () => {
  it("are not needed for the message that a push of many branches starts no pipeline", async () => {
    const { ci, pushAll } = given();
    const branches = (count: number) =>
      Array.from({ length: count }, (_, n) => `many-${count}-${n}`);
    expect(await pushAll(branches(101))).to.contain("starts them for 100 branches and tags");
    expect(await pushAll(branches(2))).not.to.contain("No pipeline");
    const refs = async () => (await ci.pipelines()).map(({ ref }) => JSON.stringify(ref));
    const started = async (name: string) => (await refs()).filter((ref) => ref.includes(name));
    await eventually(async () => (await started("many-2-")).length === 2, 120_000);
    expect(await started("many-101-")).to.deep.equal([]);
  });
});
