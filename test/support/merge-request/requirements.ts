import { expect } from "chai";
import { codeOf } from "../app/answer.ts";
import { startTestApp, type TestUser } from "../app/app.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

export async function givenRequirements() {
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob, carl } = people;
  const dora = await app.givenUser("dora");
  let world: MergeWorld;
  beforeEach(async () => {
    world = await newWorld();
    await member(dora, "DEVELOPER");
  });
  const member = (user: TestUser, role: string) =>
    world.post(anna, "/member/invite", { userAlias: user.alias, role });
  async function configure(change: Json): Promise<void> {
    const at = world.at("/merge-request/approval/configuration/edit");
    const { status, text } = await app.send("PATCH", at, { token: anna.token, body: change });
    expect(status, text).to.equal(200);
  }
  /** Names of the requirements that do not hold for a user. */
  async function unmet(user: TestUser = bob): Promise<readonly string[]> {
    const { body } = await world.get(user, "/merge-request/1");
    const requirements = Object.entries(body["mergeRequirements"] as Record<string, boolean>);
    const names = requirements.flatMap(([name, isMet]) => (isMet ? [] : [name]));
    expect(requirements).to.have.length(8);
    expect(body["canMerge"]).to.equal(names.length === 0);
    return names;
  }
  /** One requirement alone says no, and merging names it. */
  async function expectOnly(name: string, user: TestUser = bob): Promise<void> {
    expect(await unmet(user)).to.deep.equal([name]);
    const answer = await world.post(user, "/merge-request/1/merge");
    expect(codeOf(answer), answer.text).to.deep.equal([422, "merge.requirements"]);
    const errors = answer.body["errors"] as Json[];
    // One for each rule that is not fulfilled.
    expect([...new Set(errors.map(({ field }) => field))]).to.deep.equal([name]);
  }
  return {
    ...{ app, anna, bob, carl, dora, member, configure, unmet, expectOnly },
    get world() {
      return world;
    },
  };
}
