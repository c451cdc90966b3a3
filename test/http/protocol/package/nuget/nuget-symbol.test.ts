import { expect } from "chai";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { nupkg, zip } from "../../../../support/git/archive.ts";
import { portablePdb, snupkg } from "../../../../support/package/snupkg.ts";

const { app, anna, at, baseOf, headers } = await startRegistryApp();
const bob = await app.givenUser("bob");
const base = baseOf("nu");
const guid = "497B72F6390A44FC878E5A2D63B6CC4B";
const other = "00112233445566778899AABBCCDDEEFF";

/** As `dotnet nuget push` sends a package, and the symbols beside it. */
function push(content: Buffer, { to = base, path = "symbolpackage/", token = anna.token } = {}) {
  const form = new FormData();
  form.append("package", new Blob([new Uint8Array(content)]), "package.snupkg");
  const key = { "x-nuget-apikey": token };
  return fetch(`${to}/${path}`, { method: "PUT", headers: key, body: form });
}
async function refused(content: Buffer, status: number, message: RegExp): Promise<void> {
  const head = await app.head();
  const answer = await push(content);
  expect([answer.status, await answer.text()], message.source)
    .to.have.property("0")
    .equal(status);
  expect(answer.statusText).to.match(message);
  expect(await app.head(), message.source).to.equal(head);
}
const symbolsAt = (name: string, key: string, again = name, from = base) =>
  fetch(`${from}/symbols/${name}/${key}/${again}`, { headers });
const held = async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]);

describe("symbols of a package of NuGet", () => {
  const pdb = portablePdb(guid, "of net8.0");
  const older = portablePdb(other, "of net6.0");
  const symbols = snupkg("Acme.Pad", "1.0.0", [
    ["lib/net8.0/Acme.Pad.pdb", pdb],
    ["lib/net6.0/Acme.Pad.pdb", older],
  ]);

  before(async () => {
    const { repositoryUuid } = await at.local("nu", "nuget", {
      packageReuploadType: "NONE",
      isDeletePackageAllowed: true,
    });
    await at.virtual("nu-all", "nuget", { includedRepositoryUuids: [repositoryUuid] });
    const packed = nupkg("Acme.Pad", "1.0.0");
    expect((await push(packed, { path: "package/" })).status).to.equal(201);
  });

  it("are pushed where the service index says", async () => {
    const index = (await (await fetch(`${base}/index.json`, { headers })).json()) as {
      resources: readonly Readonly<Record<string, string>>[];
    };
    const found = index.resources.find((each) => each["@type"] === "SymbolPackagePublish/4.9.0");
    expect(found?.["@id"]).to.equal(`${base}/symbolpackage`);
    expect((await push(symbols)).status).to.equal(201);
    expect((await push(symbols)).status).to.equal(409);
    expect(await held()).to.equal(0);
  });

  it("are found by debuggers by their GUID, without regard to case", async () => {
    const found = await symbolsAt("Acme.Pad.pdb", `${guid}FFFFFFFF`);
    expect(found.status).to.equal(200);
    expect(Buffer.from(await found.arrayBuffer())).to.deep.equal(pdb);
    const spelled = await symbolsAt("acme.pad.pdb", `${other.toLowerCase()}ffffffff`);
    expect(Buffer.from(await spelled.arrayBuffer()).toString()).to.equal(older.toString());
    const merged = await symbolsAt("Acme.Pad.pdb", `${guid}1`, undefined, baseOf("nu-all"));
    expect(merged.status).to.equal(200);
    const anonymous = await fetch(`${base}/symbols/a.pdb/${guid}FFFFFFFF/a.pdb`);
    expect(anonymous.status).to.equal(401);
    const wrong = [
      ["Acme.Pad.pdb", `${guid}FFFFFFFF`, "Other.pdb"],
      ["Other.pdb", `${guid}FFFFFFFF`],
      ["Acme.Pad.pdb", `${guid.replace("4", "5")}FFFFFFFF`],
      ["Acme.Pad.pdb", guid],
      ["..%2fAcme.Pad.pdb", `${guid}FFFFFFFF`],
    ] as const;
    for (const [name, key, again] of wrong) {
      expect((await symbolsAt(name, key, again)).status, name + key).to.equal(404);
    }
  });

  it("leave the lists of the package as they are", async () => {
    const flat = `${base}/flat/acme.pad`;
    const versions = await (await fetch(`${flat}/index.json`, { headers })).json();
    expect(versions).to.deep.equal({ versions: ["1.0.0"] });
    const url = `${base}/registration/acme.pad/index.json`;
    const index = (await (await fetch(url, { headers })).json()) as Record<string, unknown>;
    expect(JSON.stringify(index)).to.contain("acme.pad.1.0.0.nupkg");
    expect(JSON.stringify(index)).not.to.contain(".pdb");
    const again = await fetch(`${flat}/1.0.0/acme.pad.1.0.0.snupkg`, { headers });
    expect(Buffer.from(await again.arrayBuffer())).to.deep.equal(symbols);
  });

  it("need their package, and keep their content where nothing is overwritten", async () => {
    const unknown = snupkg("Acme.Pad", "2.0.0", [["a.pdb", pdb]]);
    await refused(unknown, 404, /Push it before/);
    const changed = snupkg("Acme.Pad", "1.0.0", [["lib/net8.0/Acme.Pad.pdb", older]]);
    await refused(changed, 409, /./);
    expect((await push(symbols, { token: bob.token })).status).to.be.oneOf([403, 404]);
    const reader = await app.givenToken(anna.id, ["READ_REGISTRY"]);
    expect((await push(symbols, { token: reader })).status).to.equal(403);
    expect(await held()).to.equal(0);
  });

  it("are refused when they are not what symbols are", async () => {
    const of = (...files: Parameters<typeof snupkg>[2]) => snupkg("Acme.Pad", "1.0.0", files);
    const broken = (change: (pdb: Buffer) => void) => {
      const copy = Buffer.from(pdb);
      change(copy);
      return of(["a.pdb", copy]);
    };
    const notPortable = /portable/;
    await refused(of(["a.pdb", "Microsoft C/C++ MSF 7.00\r\n"]), 422, notPortable);
    await refused(of(["a.pdb", ""]), 422, notPortable);
    await refused(of(["a.pdb", pdb.subarray(0, 60)]), 422, notPortable);
    await refused(
      broken((copy) => copy.writeUInt32LE(0xffff_ffff, 12)),
      422,
      notPortable,
    );
    await refused(
      broken((copy) => copy.writeUInt16LE(0xffff, 30)),
      422,
      notPortable,
    );
    const late = Buffer.concat([pdb, Buffer.alloc(100_000)]);
    late.writeUInt32LE(90_000, late.indexOf("#Pdb") - 8);
    await refused(of(["a.pdb", late]), 422, notPortable);
    await refused(of(), 422, /no PDB/);
    await refused(of(["a.pdb", pdb], ["lib/a.dll", "MZ"]), 422, /a\.dll/);
    await refused(of(["../a.pdb", pdb]), 422, /leads out|not a zip/);
    await refused(of(["a.pdb", pdb], ["A.pdb", older]), 422, /twice/);
    await refused(of(["a\u0001.pdb", pdb]), 422, /./);
    await refused(of([`${"a".repeat(300)}.pdb`, pdb]), 422, /name of a PDB/);
    await refused(snupkg("Acme.Pad", "1.0.0", [["a.pdb", pdb]], "Dependency"), 422, /no package/);
    const many = Array.from({ length: 501 }, (_, at) => [`${at}.pdb`, pdb] as const);
    await refused(of(...many), 422, /at most 500/);
    await refused(zip([["a.pdb", pdb]]), 422, /nuspec/);
    await refused(Buffer.from("no zip"), 422, /zip/);
    const asPackage = await push(symbols, { path: "package/" });
    expect(asPackage.status).to.equal(422);
    expect(await held()).to.equal(0);
  });

  it("go and come back with their version", async () => {
    const status = async () => (await symbolsAt("Acme.Pad.pdb", `${guid}FFFFFFFF`)).status;
    const path = "/project/anna/forge/repositories";
    const { token } = anna;
    const all = await app.get(path, { token });
    const { _embedded } = all.body as Record<string, Record<string, Record<string, string>[]>>;
    const [own] = _embedded?.["shortRegistryRepositoryDtoList"] ?? [];
    const id = own?.["repositoryUuid"];
    const packages = JSON.parse((await app.get(`${path}/${id}/package`, { token })).text);
    const [only] = Object.values(packages._embedded).flat() as { id: string }[];
    const deleted = await app.delete(`${path}/${id}/package/${only?.id}`, { token });
    expect(deleted.status, deleted.text).to.be.oneOf([200, 204]);
    expect(await status()).to.equal(404);
    const trash = JSON.parse((await app.get(`${path}/${id}/trash`, { token })).text);
    const [version] = Object.values(trash._embedded).flat() as { id: string }[];
    const back = await app.post(`${path}/${id}/trash/${version?.id}/restore`, { token });
    expect(back.status, back.text).to.be.oneOf([200, 204]);
    expect(await status()).to.equal(200);
  });

  it("are stored whole or not at all when the name of a PDB is long", async () => {
    expect((await push(nupkg("Acme.Long", "1.0.0"), { path: "package/" })).status).to.equal(201);
    const named = (name: string) => snupkg("Acme.Long", "1.0.0", [[`${name}.pdb`, pdb]]);
    await refused(named("漢".repeat(160)), 422, /name of a PDB/);
    expect(await held()).to.equal(0);
    expect((await push(named("漢".repeat(60)))).status).to.equal(201);
  });

  it("are stored whole or not at all when a version gets too many files", async () => {
    expect((await push(nupkg("Acme.Full", "1.0.0"), { path: "package/" })).status).to.equal(201);
    // The package and its symbols are files as well.
    const full = Array.from({ length: 499 }, (_, at) => [`${at}.pdb`, pdb] as const);
    await refused(snupkg("Acme.Full", "1.0.0", full), 422, /at most 500 files/);
    expect(await held()).to.equal(0);
  });
});
