import { expect } from "chai";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { nupkg } from "../../../../support/git/archive.ts";
import { portablePdb, snupkg } from "../../../../support/package/snupkg.ts";

const { app, anna, at, baseOf, headers } = await startRegistryApp();
const base = baseOf("nu");

function push(content: Buffer, { path = "symbolpackage/" } = {}) {
  const form = new FormData();
  form.append("package", new Blob([new Uint8Array(content)]), "package.snupkg");
  const key = { "x-nuget-apikey": anna.token };
  return fetch(`${base}/${path}`, { method: "PUT", headers: key, body: form });
}
const symbolsAt = (name: string, key: string) =>
  fetch(`${base}/symbols/${name}/${key}/${name}`, { headers });

before(() => at.local("nu", "nuget"));

describe("symbols of a package of NuGet", () => {
  it("are found where many deleted versions hold the same", async () => {
    const versions = Array.from({ length: 21 }, (_, patch) => `1.0.${patch}`);
    const shared: readonly [string, Buffer] = ["Shared.pdb", portablePdb("AB".repeat(16))];
    for (const version of versions) {
      expect((await push(nupkg("Many", version), { path: "package/" })).status).to.equal(201);
      expect((await push(snupkg("Many", version, [shared]))).status).to.equal(201);
    }
    const rows = app.deps.db("package_version").whereIn("version", versions.slice(0, -1));
    const many = app.deps.db("package").where({ name: "Many" }).select("id");
    await rows.whereIn("package_id", many).update({ deleted_at: new Date() });
    expect((await symbolsAt("Shared.pdb", `${"AB".repeat(16)}FFFFFFFF`)).status).to.equal(200);
  });
});
