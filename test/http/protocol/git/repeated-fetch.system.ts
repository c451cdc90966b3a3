import { expect } from "chai";

import type { TestUser } from "../../../support/app/git-app.ts";
import { git } from "../../../support/git/git.ts";
import { packCacheWorld } from "../../../support/git/pack-cache-world.ts";

const { app, given, filled, clone, uploadPacksWhile } = await packCacheWorld();
let anna: TestUser;
let copy: string;
before(() => {
  ({ anna, copy } = given());
});

describe("a repeated fetch", () => {
  it("is made for all requests of one moment, more than a caller has places", async () => {
    const from = app.remote(await filled("crowd"), anna);
    await clone(from);
    const crowd = () => Promise.all(Array.from({ length: 12 }, () => clone(from)));
    expect(await uploadPacksWhile(crowd)).to.be.within(1, 6);
  });

  it("is another one when a ref has moved, come or gone", async () => {
    const project = await filled("moving");
    const from = app.remote(project, anna);
    const send = async (): Promise<string> => {
      const into = await clone(from);
      return git(into, "for-each-ref", "--format=%(objectname) %(refname)");
    };
    const said = () => git(repository.gitDir, "for-each-ref", "--format=%(objectname) %(refname)");
    const repository = (await app.git.find(project.id))!;
    await send();
    await send();
    const changes = [
      { refs: ["HEAD~1:refs/heads/more"], made: 1 },
      { refs: ["HEAD~2:refs/heads/more", "--force"], made: 1 },
      // As it was before: that one is kept.
      { refs: [":refs/heads/more"], made: 0 },
      { refs: ["HEAD~1:refs/tags/v1"], made: 1 },
    ];
    for (const { refs, made } of changes) {
      await git(copy, "push", "--quiet", from, ...refs);
      const same = async () => expect(await send()).to.equal(await said());
      expect(await uploadPacksWhile(same), refs[0]).to.equal(made);
    }
    await git(repository.gitDir, "pack-refs", "--all", "--prune");
    expect(await send()).to.equal(await said());
  });

  it("depends on the request: depth, filter, what the client has already", async () => {
    const from = app.remote(await filled("kinds"), anna);
    for (let round = 0; round < 3; round += 1) {
      const shallow = await clone(from, "--depth=2");
      expect(await git(shallow, "rev-list", "--count", "main")).to.equal("2");
      const partial = await clone(from, "--filter=blob:none");
      const missing = await git(partial, "rev-list", "--objects", "--missing=print", "main");
      expect(missing).to.match(/^\?[0-9a-f]{40}$/m);
      const whole = await clone(from);
      expect(await git(whole, "rev-list", "--count", "main")).to.equal("5");
      await git(whole, "fsck", "--full", "--strict");
    }
  });
});
