import { expect } from "chai";

import { sweepPackageTrash } from "../../../../src/workers/package/trash-sweep.ts";
import { type Answer, startTestApp } from "../../../support/app/app.ts";
import {
  expectRefusal,
  type RepositoryView,
  repositoriesAt,
} from "../../../support/client/registry.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
await app.givenProject(anna, "forge", { private: false });
const base = "/project/anna/forge/repositories";
const at = repositoriesAt(app, base, anna.token);
const { token } = anna;

type Item = Readonly<Record<string, string>> & Readonly<{ packageFiles: readonly unknown[] }>;
const made: { loose?: RepositoryView; fixed?: RepositoryView; both?: RepositoryView } = {};
const place = (kind: keyof typeof made) => `${base}/${made[kind]?.repositoryUuid}`;

async function store(repository: string, file: string): Promise<void> {
  const path = `/registry/project/anna/forge/repository/${repository}/${file}`;
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(app.url + path, { method: "PUT", headers, body: file });
  expect(answer.status, await answer.text()).to.equal(201);
}
const read = (repository: string, file: string) =>
  fetch(`${app.url}/registry/project/anna/forge/repository/${repository}/${file}`, {
    headers: { authorization: `Bearer ${token}` },
  });
const itemsOf = ({ status, text, body }: Answer): readonly Item[] => {
  expect(status, text).to.equal(200);
  return Object.values((body["_embedded"] ?? {}) as Record<string, Item[]>)[0] ?? [];
};
const list = async (path: string) => itemsOf(await app.get(path, { token }));

before(async () => {
  made.loose = await at.local("loose", "generic", { isDeletePackageAllowed: true });
  made.fixed = await at.local("fixed", "generic");
  const includedRepositoryUuids = [made.loose.repositoryUuid, made.fixed.repositoryUuid];
  made.both = await at.virtual("both", "generic", { includedRepositoryUuids });
  for (const file of ["tool/1/a", "tool/1/b", "tool/2/a", "other/1/a"]) await store("loose", file);
  await store("fixed", "kept/1/a");
});

describe("the packages of a repository", () => {
  it("are listed by name, with versions and their files, of a virtual one those of its members", async () => {
    const [other, tool] = await list(`${place("loose")}/package`);
    expect(other).to.include({ name: "other", version: "1" });
    expect(tool).to.include({ name: "tool", version: "2", type: "generic" });
    const loose = { ownerUuid: made.loose?.repositoryUuid, ownerType: "REPOSITORY" };
    expect(tool).to.include(loose);
    const versions = await list(`${place("loose")}/package/${tool?.["id"]}/version`);
    expect(
      versions.map(({ version, packageFiles }) => [version, packageFiles.length]),
    ).to.deep.equal([
      ["2", 1],
      ["1", 2],
    ]);
    const both = await list(`${place("both")}/package`);
    expect(both.map(({ name }) => name)).to.deep.equal(["kept", "other", "tool"]);
    expect(both[2]).to.include(loose);
    const page = await app.get(`${place("both")}/package?size=1&page=1`, { token });
    expect(itemsOf(page).map(({ name }) => name)).to.deep.equal(["other"]);
    expect(page.body["page"]).to.include({ totalElements: 3 });
  });

  it("are paged by what is there, also when a package comes between two pages", async () => {
    const paged = await at.local("paged", "generic");
    const names = async (page: number) => {
      const rest = `${base}/${paged.repositoryUuid}/package?size=2&page=${page}`;
      return (await list(rest)).map(({ name }) => name);
    };
    for (const name of ["b", "d", "f", "h", "k"]) await store("paged", `${name}/1/a`);
    for (let time = 0; time < 2; time += 1) {
      const pages = [await names(0), await names(1), await names(2), await names(3)];
      expect(pages).to.deep.equal([["b", "d"], ["f", "h"], ["k"], []]);
    }
    await store("paged", "c/1/a");
    expect([await names(1), await names(2)]).to.deep.equal([
      ["d", "f"],
      ["h", "k"],
    ]);
  });

  it("are not found from another repository", async () => {
    const [kept] = await list(`${place("fixed")}/package`);
    const path = `${place("loose")}/package/${kept?.["id"]}`;
    expectRefusal(await app.get(`${path}/version`, { token }), 404, "package.not_found");
    expectRefusal(await app.delete(path, { token }), 404, "package.not_found");
  });

  it("are deleted only where that is allowed, and by developers", async () => {
    const [kept] = await list(`${place("fixed")}/package`);
    const fixed = `${place("fixed")}/package/${kept?.["id"]}`;
    expectRefusal(await app.delete(fixed, { token }), 405, "package.deletion_forbidden");
    const [other] = await list(`${place("loose")}/package`);
    const loose = `${place("loose")}/package/${other?.["id"]}`;
    expect((await app.delete(loose, { token: bob.token })).status).to.equal(403);
    expect((await list(`${place("loose")}/package`)).length).to.equal(2);
  });
});

describe("the trash of a repository", () => {
  it("keeps a deleted version with its files until it is restored", async () => {
    const tool = (await list(`${place("loose")}/package`)).find(({ name }) => name === "tool");
    const versions = `${place("loose")}/package/${tool?.["id"]}/version`;
    const [, first] = await list(versions);
    expect((await app.delete(`${versions}/${first?.["id"]}`, { token })).status).to.equal(204);
    expect((await app.delete(`${versions}/${first?.["id"]}`, { token })).status).to.equal(404);
    expect((await list(versions)).map(({ version }) => version)).to.deep.equal(["2"]);
    expect((await read("loose", "tool/1/a")).status).to.equal(404);
    const [deleted] = await list(`${place("loose")}/trash`);
    expect(deleted).to.include({ id: first?.["id"], packageName: "tool", version: "1" });
    const restore = `trash/${deleted?.["id"]}/restore`;
    expect((await app.post(`${place("fixed")}/${restore}`, { token })).status).to.equal(404);
    const answer = await app.post(`${place("loose")}/${restore}`, { token });
    expect(answer.body["packageFiles"], answer.text).to.have.length(2);
    expect(await (await read("loose", "tool/1/a")).text()).to.equal("tool/1/a");
    expect(await list(`${place("loose")}/trash`)).to.deep.equal([]);
    expect((await app.post(`${place("loose")}/${restore}`, { token })).status).to.equal(404);
  });

  it("takes all versions of a package, and forgets them after the retention time", async () => {
    const tool = (await list(`${place("loose")}/package`)).find(({ name }) => name === "tool");
    const gone = await app.delete(`${place("loose")}/package/${tool?.["id"]}`, { token });
    expect(gone.status).to.equal(204);
    const names = (await list(`${place("loose")}/package`)).map(({ name }) => name);
    expect(names).to.deep.equal(["other"]);
    const [one, two] = await list(`${place("loose")}/trash`);
    expect([one?.["version"], two?.["version"]].sort()).to.deep.equal(["1", "2"]);
    const days = app.deps.config.projectRetentionDays + 1;
    const long = new Date(Date.now() - days * 24 * 3_600_000);
    await app.deps.db("package_version").where("id", one!["id"]).update({ deleted_at: long });
    expect((await list(`${place("loose")}/trash`)).map(({ id }) => id)).to.deep.equal([
      two?.["id"],
    ]);
    const late = await app.post(`${place("loose")}/trash/${one?.["id"]}/restore`, { token });
    expectRefusal(late, 404, "package_version.not_found");
  });

  it("is purged after the retention time, and its names are free again", async () => {
    const { platform, deps, head } = app;
    const sweepAt = async (now: Date) => {
      await sweepPackageTrash({ ...platform, now: () => now });
      await deps.visible(await head());
    };
    const [two] = await list(`${place("loose")}/trash`);
    const files = () => deps.db("package_file").where("package_version_id", two?.["id"]);
    const before = await head();
    // One of them looks old in the read model; the log knows better.
    await sweepAt(new Date());
    expect(await head()).to.equal(before);
    const days = deps.config.projectRetentionDays + 1;
    const later = new Date(Date.now() + days * 24 * 3_600_000);
    expect(await files()).not.to.deep.equal([]);
    await sweepAt(later);
    expect(await files()).to.deep.equal([]);
    expect(await list(`${place("loose")}/trash`)).to.deep.equal([]);
    const late = await app.post(`${place("loose")}/trash/${two?.["id"]}/restore`, { token });
    expectRefusal(late, 404, "package_version.not_found");
    const after = await head();
    await sweepAt(later);
    expect(await head()).to.equal(after);
    await store("loose", "tool/2/a");
    const [, tool] = await list(`${place("loose")}/package`);
    expect(tool).to.include({ name: "tool", version: "2" });
  });
});
