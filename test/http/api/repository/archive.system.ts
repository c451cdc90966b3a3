import { randomBytes } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { commit, git } from "../../../support/git/git.ts";
import {
  givenPeople,
  type People,
  type RefWorld,
  refWorlds,
} from "../../../support/git/ref-world.ts";
import { processes } from "../../../support/process/process.ts";

const app = await startTestApp();
const newWorld = await refWorlds(app);
let people: People;
let world: RefWorld;

before(async () => {
  people = await givenPeople(app);
  world = await newWorld(people);
});

describe("GET …/archive/{ref}", () => {
  it("ends git when the client disconnects, and releases the slot", async () => {
    await commit(world.copy, "Large", { "large.bin": randomBytes(24 * 1024 ** 2) });
    await git(world.copy, "push", "--quiet", "origin", "main");
    for (let round = 0; round < 4; round += 1) {
      const gone = new AbortController();
      const answer = await fetch(app.url + world.at("/archive/main.tar.gz"), {
        headers: { authorization: `token ${people.carl.token}` },
        signal: gone.signal,
      });
      expect(answer.status).to.equal(200);
      expect(await archivers()).not.to.deep.equal([]);
      gone.abort();
      await eventually(async () => (await archivers()).length === 0);
    }
  });
});

/** Processes that pack this project. */
async function archivers() {
  const mark = `git-dir=${world.gitDir} archive`;
  return (await processes()).filter(({ command }) => command.includes(mark));
}
