import { expect } from "chai";

import { downloadsOf } from "../../../../../src/http/api/package/download-count.ts";
import { eventually } from "../../../../support/app/eventually.ts";
import { nativeRegistry } from "../../../../support/client/native-registry.ts";

const { app, at, baseOf, get, send } = await nativeRegistry();

describe("a file that was downloaded before", () => {
  const file = (name: string) => `${baseOf(name)}/tool/1/a`;
  const small = "small";
  const large = "large".repeat(20_000);
  /** Of the packages of one repository: those of others are counted a moment after their download too. */
  const downloads = async (repositoryId: string): Promise<number> => {
    const rows = await app.deps
      .db("package_version")
      .where({ registry_id: repositoryId })
      .pluck("id");
    const counts = await downloadsOf(app.deps.db, rows);
    return [...counts.values()].reduce((sum, count) => sum + count, 0);
  };

  before(async () => {
    await at.local("changing", "generic", { isDeletePackageAllowed: true });
  });

  for (const [size, first, then] of [
    ["small", small, "SMALL"],
    ["large", large, large.toUpperCase()],
  ] as const) {
    it(`of ${size} size is the new one once it is overwritten, and gone once it is deleted`, async () => {
      const url = file("changing");
      for (const content of [first, then]) {
        expect((await send("PUT", url, content)).status).to.equal(201);
        for (let round = 0; round < 2; round += 1) {
          expect((await (await get(url)).text()) === content, "the content").to.equal(true);
        }
      }
      expect((await send("DELETE", `${baseOf("changing")}/tool/1`)).status).to.equal(204);
      expect((await get(url)).status).to.equal(404);
    });
  }

  it("is closed to callers without a token as soon as the repository is", async () => {
    const open = { hasAnonymousAccess: true };
    const { repositoryUuid: id } = await at.local("open", "generic", open);
    await send("PUT", file("open"), small);
    const anonymously = async () => (await fetch(file("open"))).status;
    expect([await anonymously(), await anonymously()]).to.deep.equal([200, 200]);
    const settings = { hasAnonymousAccess: false };
    expect((await at.change(id, { type: "LOCAL", settings })).status).to.equal(200);
    expect(await anonymously()).to.equal(401);
  });

  it("counts as downloaded when its end is sent, not its head, a part or what the caller has", async () => {
    const { repositoryUuid: id } = await at.local("counted", "generic");
    const url = file("counted");
    await send("PUT", url, small);
    const whole = await get(url);
    await send("HEAD", url);
    await get(url, { "if-none-match": whole.headers.get("etag") ?? "" });
    await get(url, { range: "bytes=0-1" });
    await get(url, { range: "bytes=2-" });
    await eventually(async () => (await downloads(id)) >= 2);
    expect(await downloads(id)).to.equal(2);
  });
});
