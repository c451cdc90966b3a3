import { expect } from "chai";

import { eventually } from "../../../../support/app/eventually.ts";
import { nativeRegistry } from "../../../../support/client/native-registry.ts";
import { type PackageUpload, packageUploads } from "../../../../support/package/package-upload.ts";

const { app, anna, at, baseOf, get, send } = await nativeRegistry();
const ours = packageUploads("ours");

/** What clients of these types ask for again by its date. */
const documents: Readonly<Record<string, readonly string[]>> = {
  composer: ["packages.json", "p2/acme/tool.json"],
  conda: ["linux-64/repodata.json", "channeldata.json"],
  cran: ["src/contrib/PACKAGES", "src/contrib/PACKAGES.gz"],
  debian: [
    ...["dists/stable/InRelease", "dists/stable/Release", "dists/stable/Release.gpg"],
    ...["dists/stable/main/binary-amd64/Packages", "dists/stable/main/binary-amd64/Packages.gz"],
  ],
  rpm: ["repodata/repomd.xml", "repodata/repomd.xml.asc"],
};

async function stored(base: string, { method, path, type, body }: PackageUpload): Promise<void> {
  const headers = { authorization: `Bearer ${anna.token}`, "content-type": type };
  const answer = await send(method, `${base}/${path}`, body, headers);
  expect(answer.status, await answer.text()).to.be.oneOf([200, 201]);
}

const dateOf = async (url: string): Promise<string> =>
  (await get(url)).headers.get("last-modified") ?? "";

describe("metadata that clients ask for again by date", () => {
  for (const [type, paths] of Object.entries(documents)) {
    it(`has a date at once, is left out while it is the same, and never after a change: ${type}`, async () => {
      const { repositoryUuid } = await at.local(type, type);
      const { repositoryUuid: other } = await at.local(`${type}-two`, type);
      const all = await at.virtual(`${type}-all`, type, { includedRepositoryUuids: [other] });
      await stored(baseOf(type), ours[type] as PackageUpload);
      await stored(baseOf(`${type}-two`), ours[type] as PackageUpload);
      const dates = new Map<string, string>();
      for (const name of [type, `${type}-all`]) {
        for (const path of paths) {
          const url = `${baseOf(name)}/${path}`;
          const date = await dateOf(url);
          expect(Date.parse(date), url).to.be.within(Date.now() - 60_000, Date.now());
          const again = await get(url, { "if-modified-since": date });
          expect([again.status, await again.text()], url).to.deep.equal([304, ""]);
          const earlier = new Date(Date.parse(date) - 1_000).toUTCString();
          expect((await get(url, { "if-modified-since": earlier })).status, url).to.equal(200);
          dates.set(url, date);
        }
      }
      const includedRepositoryUuids = [other, repositoryUuid];
      const edited = { type: "VIRTUAL", virtualSettings: { includedRepositoryUuids } };
      expect((await at.change(all.repositoryUuid, edited)).status).to.equal(200);
      await app.deps.db("package_registry").where("id", repositoryUuid).increment("revision", 1);
      for (const [url, date] of dates) {
        expect((await get(url, { "if-modified-since": date })).status, url).to.equal(200);
        await eventually(async () =>
          expect(Date.parse(await dateOf(url)), url).to.be.greaterThan(Date.parse(date)),
        );
      }
    });
  }

  it("has no date ahead of the clock, however fast it changes", async () => {
    const { repositoryUuid } = await at.local("fast", "composer");
    const url = `${baseOf("fast")}/packages.json`;
    const registry = app.deps.db("package_registry").where("id", repositoryUuid);
    for (let change = 0; change < 5; change += 1) {
      await registry.clone().increment("revision", 1);
      const date = await dateOf(url);
      if (date !== "") expect(Date.parse(date)).to.be.at.most(Date.now());
    }
  });
});
