import { expect } from "chai";

import { npmTarball } from "../../../../support/git/archive.ts";
import {
  npmRegistry,
  type Packument,
  publication,
} from "../../../../support/package/npm-registry.ts";

const { app, at, baseOf, headers, send, publish } = await npmRegistry();

before(async () => {
  await at.local("npm", "npm", { isDeletePackageAllowed: true });
  await at.local("fixed", "npm", { packageReuploadType: "NONE" });
});

describe("the npm protocol", () => {
  it("answers a package whole and abbreviated, made from the tarball alone", async () => {
    const described = { description: "Pads", keywords: ["pad"], maintainers: [{ name: "anna" }] };
    const scripts = { install: "x" };
    const manifest = { name: "left", version: "1.2.3", scripts, readme: "Long", ...described };
    const lies = publication("left", "1.2.3", npmTarball(manifest)).replace(
      '"versions":{"1.2.3":{',
      '"versions":{"1.2.3":{"dependencies":{"evil":"1"},',
    );
    expect((await publish("npm", "left", lies)).status).to.equal(201);
    const whole = (await (await send("npm", "left")).json()) as Packument;
    const version = whole.versions["1.2.3"];
    expect(version).to.include({ _id: "left@1.2.3", hasInstallScript: true });
    expect(version).not.to.have.any.keys("dependencies", "readme");
    expect(version?.dist.tarball).to.equal(`${baseOf("npm")}/left/-/left-1.2.3.tgz`);
    expect(whole["dist-tags"]).to.deep.equal({ latest: "1.2.3" });
    const accept = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8";
    const short = await send("npm", "left", { accept });
    expect(short.headers.get("content-type")).to.equal("application/vnd.npm.install-v1+json");
    expect(Object.keys((await short.json()) as object).sort()).to.deep.equal([
      "dist-tags",
      "modified",
      "name",
      "versions",
    ]);
    const latest = (await (await send("npm", "left/latest")).json()) as Record<string, unknown>;
    expect(latest["version"]).to.equal("1.2.3");
    const found = (await (await send("npm", "-/v1/search?text=LEF")).json()) as {
      objects: { package: object }[];
    };
    const maintainers = [{ username: "anna" }];
    expect(found.objects[0]?.package).to.deep.include({ ...described, maintainers, name: "left" });
    expect(found.objects).to.have.length(1);
  });

  it("names who published to `npm owner ls` and `npm search`, which counts all that match", async () => {
    for (const name of ["shown-one", "shown-two", "shown-three"]) {
      const manifest = { name, version: "1.0.0", description: "Draws curves", keywords: ["svg"] };
      const sent = publication(name, "1.0.0", npmTarball(manifest));
      expect((await publish("npm", name, sent)).status).to.equal(201);
    }
    const whole = (await (await send("npm", "shown-one")).json()) as Packument;
    expect(whole["maintainers"]).to.deep.equal([{ name: "anna", email: "" }]);
    const search = async (query: string) => {
      const answer = await send("npm", `-/v1/search?${query}`);
      return (await answer.json()) as { objects: { package: Packument }[]; total: number };
    };
    const { objects, total } = await search("text=svg%20SHOWN&size=2");
    const names = objects.map((each) => each.package["name"]);
    expect([names, total]).to.deep.equal([["shown-one", "shown-three"], 3]);
    expect(objects[0]?.package).to.deep.include({ publisher: { username: "anna", email: "" } });
    expect((await search("text=curves+two")).total).to.equal(1);
    expect((await search("text=curves+none")).total).to.equal(0);
  });

  it("finds a package with the version that is tagged latest, while it is there", async () => {
    for (const version of ["1.0.0", "2.0.0", "3.0.0-rc.1"]) {
      const tarball = npmTarball({ name: "tagged", version, description: `of ${version}` });
      const sent = publication("tagged", version, tarball);
      expect((await publish("npm", "tagged", sent)).status).to.equal(201);
    }
    const shown = async () => {
      const answer = await send("npm", "-/v1/search?text=tagged");
      const { objects } = (await answer.json()) as { objects: { package: object }[] };
      return objects.map((each) => each.package);
    };
    const tag = (version: string) =>
      fetch(`${baseOf("npm")}/-/package/tagged/dist-tags/latest`, {
        method: "PUT",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(version),
      });
    expect((await tag("1.0.0")).ok).to.equal(true);
    const [first] = await shown();
    expect(first).to.include({ version: "1.0.0", description: "of 1.0.0" });
    await app.deps.db("package_tag").where("version", "1.0.0").update({ version: "9.9.9" });
    expect((await shown())[0]).to.include({ version: "2.0.0" });
  });

  it("fails to find a package whose versions cannot be read, and does not hide it", async () => {
    const tarball = npmTarball({ name: "unread", version: "1.0.0" });
    const sent = publication("unread", "1.0.0", tarball, "beta");
    expect((await publish("npm", "unread", sent)).status).to.equal(201);
    const files = app.deps.db("package_file").where("name", "like", "unread-%");
    expect(await files.update({ metadata: "{" })).to.equal(1);
    expect((await send("npm", "-/v1/search?text=unread")).status).to.equal(500);
  });

  it("refuses a tarball of another package or version, and what is no publication", async () => {
    const head = await app.head();
    const tarball = npmTarball({ name: "right", version: "1.0.0" });
    const statuses: number[] = [];
    for (const body of [
      publication("wrong", "1.0.0", tarball),
      publication("wrong", "2.0.0", npmTarball({ name: "wrong", version: "1.0.0" })),
      publication("wrong", "1.0.0", Buffer.from("no tarball")),
      publication("wrong", "1.0.0", tarball).slice(0, -40),
      publication("wrong", "1.0.0", tarball).replace('"data":"', '"data":"!!!!'),
      "[]",
      "",
    ]) {
      statuses.push((await publish("npm", "wrong", body)).status);
    }
    expect(statuses).to.deep.equal([422, 422, 422, 400, 400, 422, 400]);
    expect((await publish("npm", "WRONG", publication("WRONG", "1.0.0", tarball))).status).to.equal(
      422,
    );
    expect(await app.head()).to.equal(head);
    const { count } = (await app.deps.db("public.blob_hold").count().first()) ?? {};
    expect(Number(count)).to.equal(0);
  });

  it("sets every tag of a publication, and refuses more than a client sends", async () => {
    const publishWith = (version: string, tags: readonly string[]) => {
      const body = publication("tagged", version, npmTarball({ name: "tagged", version }));
      const sent = Object.fromEntries(tags.map((tag) => [tag, version]));
      const whole = { ...(JSON.parse(body) as object), "dist-tags": sent };
      return publish("npm", "tagged", JSON.stringify(whole));
    };
    const tags = Array.from({ length: 11 }, (_, n) => `tag-${n}`);
    const head = await app.head();
    const refused = await publishWith("1.0.0", tags);
    expect(refused.status).to.equal(422);
    expect(await refused.json())
      .to.have.property("error")
      .that.includes("at most 10 tags");
    expect((await publishWith("1.0.0", ["1.x"])).status).to.equal(422);
    expect(await app.head(), "nothing is stored of what is refused").to.equal(head);
    expect((await publishWith("1.0.0", tags.slice(1))).status).to.equal(201);
    const found = (await (await send("npm", "-/package/tagged/dist-tags")).json()) as object;
    expect(found).to.include.keys(tags.slice(1));
  });

  it("shows a version once that was deleted and published again", async () => {
    const put = async (version: string) => {
      const body = publication("again", version, npmTarball({ name: "again", version }));
      expect((await publish("npm", "again", body)).status).to.equal(201);
    };
    const shown = async () => {
      const text = await (await send("npm", "again")).text();
      return [...text.matchAll(/"_id":"again@([^"]+)"/g)].map(([, version]) => version);
    };
    for (const version of ["1.0.0", "1.1.0"]) await put(version);
    expect(await shown()).to.deep.equal(["1.0.0", "1.1.0"]);
    const old = `${baseOf("npm")}/again/-/again-1.0.0.tgz/-rev/1`;
    expect((await fetch(old, { method: "DELETE", headers })).status).to.equal(200);
    await put("1.0.0");
    expect(await shown()).to.deep.equal(["1.1.0", "1.0.0"]);
    const [row] = await app.deps.db("package").where("name", "again").select("reset_position");
    expect(row?.reset_position, "parts of many versions begin anew").not.to.equal(0n);
  });

  it("deletes nothing by a document that was read before the last change", async () => {
    const put = (version: string) =>
      publish(
        "npm",
        "raced",
        publication("raced", version, npmTarball({ name: "raced", version })),
      );
    for (const version of ["1.0.0", "1.1.0"]) expect((await put(version)).status).to.equal(201);
    type Read = Packument & Readonly<{ _rev: string }>;
    const read = async () => (await (await send("npm", "raced")).json()) as Read;
    const unpublish = ({ _rev }: Read, versions: object | undefined, method = "PUT") => {
      const body = JSON.stringify({ _id: "raced", _rev, name: "raced", versions });
      return fetch(`${baseOf("npm")}/raced/-rev/${_rev}`, { method, headers, body });
    };
    const old = await read();
    expect((await put("1.2.0")).status).to.equal(201);
    const { "1.1.0": kept } = old.versions;
    for (const method of ["PUT", "DELETE"]) {
      const answer = await unpublish(old, { "1.1.0": kept }, method);
      expect([answer.status, Object.keys((await read()).versions)], method).to.deep.equal([
        409,
        ["1.0.0", "1.1.0", "1.2.0"],
      ]);
    }
    expect((await unpublish(await read(), undefined)).status, "no versions").to.equal(422);
    expect((await unpublish(await read(), { "1.1.0": kept, "1.2.0": {} })).status).to.equal(200);
    expect(Object.keys((await read()).versions)).to.deep.equal(["1.1.0", "1.2.0"]);
    expect((await unpublish(await read(), {}, "DELETE")).status).to.equal(200);
    expect((await send("npm", "raced")).status).to.equal(404);
  });

  it("unpublishes no package that is not there", async () => {
    const body = JSON.stringify({ _id: "ghost", name: "ghost", versions: {} });
    for (const method of ["PUT", "DELETE"]) {
      const answer = await fetch(`${baseOf("npm")}/ghost/-rev/1`, { method, headers, body });
      expect(answer.status, method).to.equal(404);
    }
  });

  it("keeps a published version where overwriting is off", async () => {
    const once = publication("once", "1.0.0", npmTarball({ name: "once", version: "1.0.0" }));
    const other = publication(
      "once",
      "1.0.0",
      npmTarball({ name: "once", version: "1.0.0", description: "other" }),
    );
    expect((await publish("fixed", "once", once)).status).to.equal(201);
    const again = await publish("fixed", "once", other);
    expect(again.status).to.equal(409);
    expect(await again.json())
      .to.have.property("error")
      .that.matches(/not overwritten/);
    const removed = await fetch(`${baseOf("fixed")}/once/-rev/1`, { method: "DELETE", headers });
    expect(removed.status).to.equal(405);
  });

  it("finds a package of a virtual repository in the first members that have it", async () => {
    const own = await at.local("own", "npm");
    const shared = await at.local("shared", "npm");
    const includedRepositoryUuids = [own.repositoryUuid, shared.repositoryUuid];
    await at.virtual("all", "npm", { includedRepositoryUuids });
    const tarball = (description: string, version: string) =>
      npmTarball({ name: "both", version, description });
    await publish("own", "both", publication("both", "1.0.0", tarball("own", "1.0.0")));
    await publish("shared", "both", publication("both", "1.0.0", tarball("shared", "1.0.0")));
    await publish("shared", "both", publication("both", "1.1.0", tarball("shared", "1.1.0")));
    const whole = (await (await send("all", "both")).json()) as Packument;
    expect(Object.keys(whole.versions)).to.have.members(["1.0.0", "1.1.0"]);
    expect(whole.versions["1.0.0"]?.["description"]).to.equal("own");
    const file = await send("all", "both/-/both-1.0.0.tgz");
    expect(file.headers.get("x-checksum-sha1")).to.equal(whole.versions["1.0.0"]?.dist.shasum);
  });

  it("lists nothing of an upload that stops at any tenth", async () => {
    const body = publication("cut", "1.0.0", npmTarball({ name: "cut", version: "1.0.0" }));
    for (let tenth = 1; tenth < 10; tenth += 1) {
      const part = body.slice(0, Math.floor((body.length * tenth) / 10));
      expect((await publish("npm", "cut", part)).status, String(tenth)).to.be.within(400, 422);
    }
    expect((await send("npm", "cut")).status).to.equal(404);
  });
});
