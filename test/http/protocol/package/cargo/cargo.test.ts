import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { repositoriesAt, startRegistryApp } from "../../../../support/client/registry.ts";
import { tgz } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

const { app, anna, at } = await startRegistryApp();
const base = `${app.url}/registry/project/anna/forge/repository/crates`;
const headers = { authorization: anna.token };
let repositoryUuid = "";

before(async () => {
  ({ repositoryUuid } = await at.local("crates", "cargo"));
});

const toml = (name: string, version: string, more = "") =>
  `[package]\nname = "${name}"\nversion = "${version}"\nedition = "2021"\ndescription = "A crate"\nlicense = "MIT"\n${more}`;
const crate = (name: string, version: string, more = "") =>
  tgz([
    [`${name}-${version}/Cargo.toml`, toml(name, version, more)],
    [`${name}-${version}/src/lib.rs`, ""],
  ]);

function framed(document: unknown, content: Buffer, claimed = content.length): Buffer {
  const json = Buffer.from(JSON.stringify(document));
  const [first, second] = [Buffer.alloc(4), Buffer.alloc(4)];
  first.writeUInt32LE(json.length);
  second.writeUInt32LE(claimed);
  return Buffer.concat([first, json, second, content]);
}

const publish = (body: Buffer) =>
  fetch(`${base}/api/v1/crates/new`, { method: "PUT", headers, body: new Uint8Array(body) });
const index = async (at: string) => {
  const text = await (await fetch(`${base}/index/${at}`, { headers })).text();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

describe("cargo", () => {
  needsProgram("cargo");

  it("is refused a version that is there, in words", async () => {
    await at.local("fixed", "cargo", { packageReuploadType: "NONE" });
    const directory = await temporaryDirectory();
    const env = {
      ...process.env,
      CARGO_HOME: path.join(directory, "home"),
      CARGO_REGISTRIES_FORGE_INDEX: `sparse+${base.replace(/crates$/, "fixed")}/index/`,
      CARGO_REGISTRIES_FORGE_TOKEN: anna.token,
      CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS: "cargo:token",
    };
    await mkdir(path.join(directory, "src"));
    await writeFile(path.join(directory, "Cargo.toml"), toml("fixed", "1.0.0"));
    await writeFile(path.join(directory, "src", "lib.rs"), "");
    const args = ["publish", "--registry", "forge", "--allow-dirty", "--no-verify"];
    const publishIt = () => promisify(execFile)("cargo", args, { cwd: directory, env });
    await publishIt();
    const refused = await publishIt().catch(({ stderr }: { stderr: string }) => stderr);
    expect(refused).to.match(/already exists/);
  }).timeout(240_000);

  it("publishes a crate, resolves and fetches it in another, and yanks it", async () => {
    const directory = await temporaryDirectory();
    const env = {
      ...process.env,
      CARGO_HOME: path.join(directory, "home"),
      CARGO_REGISTRIES_FORGE_INDEX: `sparse+${base}/index/`,
      CARGO_REGISTRIES_FORGE_TOKEN: anna.token,
      CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS: "cargo:token",
    };
    const cargo = (cwd: string, ...args: string[]) =>
      promisify(execFile)("cargo", args, { cwd: path.join(directory, cwd), env });
    const source = async (name: string, text: string) => {
      await mkdir(path.join(directory, name, "src"), { recursive: true });
      await writeFile(path.join(directory, name, "Cargo.toml"), text);
      await writeFile(path.join(directory, name, "src", "lib.rs"), "pub fn one() -> u8 { 1 }\n");
    };
    await source("answer_lib", toml("answer_lib", "1.0.0"));
    const flags = ["--registry", "forge", "--allow-dirty", "--no-verify"];
    await cargo("answer_lib", "publish", ...flags);
    const dependency = '[dependencies]\nanswer_lib = { version = "1", registry = "forge" }\n';
    await source("user", toml("user", "1.0.0", dependency));
    await cargo("user", "fetch");
    await cargo("answer_lib", "yank", "--version", "1.0.0", "--registry", "forge", "answer_lib");
    expect((await index("an/sw/answer_lib"))[0]).to.include({ yanked: true });
    const { stdout: owners } = await cargo("answer_lib", "owner", "--list", "--registry", "forge");
    expect(owners.trim()).to.equal("anna");
    await cargo("answer_lib", "owner", "--add", "anna", "--registry", "forge");
    const removing = cargo("answer_lib", "owner", "--remove", "anna", "--registry", "forge");
    expect(await removing.catch(({ stderr }) => String(stderr))).to.include("role DEVELOPER");
    const flag = ["--version", "1.0.0", "--undo", "--registry", "forge"];
    await cargo("answer_lib", "yank", ...flag, "answer_lib");
    expect((await index("an/sw/answer_lib"))[0]).to.include({ yanked: false });
  }).timeout(240_000);
});

describe("the registry of crates", () => {
  it("requires a token and says where everything is", async () => {
    expect((await fetch(`${base}/index/config.json`)).status).to.equal(401);
    const answer = await fetch(`${base}/index/config.json`, { headers });
    expect(await answer.json()).to.deep.equal({
      dl: `${base}/api/v1/crates`,
      api: base,
      "auth-required": true,
    });
  });

  it("makes the index from the crate itself", async () => {
    const more = `[dependencies.serde]\nversion = "1"\noptional = true\nfeatures = ["derive"]\n[features]\nnew = ["dep:serde"]\nold = []\n[target.'cfg(unix)'.dev-dependencies]\nlibc = "0.2"\n`;
    const lies = { name: "made", vers: "0.1.0", deps: [{ name: "evil" }] };
    expect((await publish(framed(lies, crate("made", "0.1.0", more)))).status).to.equal(200);
    const [line] = await index("ma/de/made");
    expect(line).to.deep.include({
      name: "made",
      vers: "0.1.0",
      features: { old: [] },
      features2: { new: ["dep:serde"] },
      v: 2,
      yanked: false,
    });
    const deps = line?.["deps"] as Record<string, unknown>[];
    expect(
      deps.map(({ name, kind, target, optional }) => [name, kind, target, optional]),
    ).to.deep.equal([
      ["serde", "normal", null, true],
      ["libc", "dev", "cfg(unix)", false],
    ]);
    const found = await (await fetch(`${base}/api/v1/crates?q=MAD`, { headers })).json();
    expect(found).to.deep.equal({
      crates: [{ name: "made", max_version: "0.1.0", description: "A crate" }],
      meta: { total: 1 },
    });
    const documented = `/project/anna/forge/repositories/${repositoryUuid}/cargo/made/0.1.0`;
    const file = await fetch(app.url + documented, {
      headers: { authorization: `token ${anna.token}` },
    });
    expect(file.status).to.equal(200);
    expect(Buffer.from(await file.arrayBuffer())).to.deep.equal(crate("made", "0.1.0", more));
  });

  it("takes names that differ by - and _ alone, or by case, for one", async () => {
    const sent = (name: string, version: string) =>
      publish(framed({ name, vers: version }, crate(name, version)));
    const both = await Promise.all([sent("one-name", "1.0.0"), sent("one_name", "1.0.0")]);
    const statuses = both.map(({ status }) => status);
    expect(statuses.sort()).to.deep.equal([200, 409]);
    const won = both.find(({ status }) => status === 200) === both[0] ? "one-name" : "one_name";
    const [line, ...more] = await index(`on/e${won[3]}/${won}`);
    expect([line?.["name"], more]).to.deep.equal([won, []]);
    const first = crate("two-name", "1.0.0");
    expect((await publish(framed({ name: "two-name", vers: "1.0.0" }, first))).status).to.equal(
      200,
    );
    for (const [name, version] of [
      ["two_name", "1.0.0"],
      ["two_name", "1.1.0"],
      ["Two-Name", "1.2.0"],
    ] as const) {
      const refused = await sent(name, version);
      expect(refused.status, name).to.equal(409);
      const { errors } = (await refused.json()) as { errors: { detail: string }[] };
      expect(errors[0]?.detail).to.match(/same name|already exists/);
    }
    expect((await sent("two-name", "1.1.0")).status).to.equal(200);
    expect((await index("tw/o-/two-name")).map(({ vers }) => vers)).to.deep.equal([
      "1.0.0",
      "1.1.0",
    ]);
  });

  it("finds crates by words of their names and descriptions, and counts all that match", async () => {
    const described = (name: string, version: string, text: string) => {
      const content = tgz([
        [`${name}-${version}/Cargo.toml`, toml(name, version).replace("A crate", text)],
        [`${name}-${version}/src/lib.rs`, ""],
      ]);
      return publish(framed({ name, vers: version }, content));
    };
    for (const n of [1, 2, 3]) await described(`found${n}`, "1.0.0", "Spins threads quickly");
    await described("found1", "1.1.0", "Spins threads quickly");
    await described("found1", "1.0.5", "Spins threads quickly");
    const search = async (query: string) => {
      const answer = await fetch(`${base}/api/v1/crates?${query}`, { headers });
      return (await answer.json()) as {
        crates: { name: string; max_version: string }[];
        meta: { total: number };
      };
    };
    const { crates, meta } = await search("q=quickly+FOUND&per_page=2");
    expect([crates.map(({ name }) => name), meta.total]).to.deep.equal([["found1", "found2"], 3]);
    expect(crates[0]?.max_version).to.equal("1.1.0");
    expect((await search("q=quickly+none")).meta.total).to.equal(0);
  });

  it("is downloaded over REST without a token where the repository is open", async () => {
    const root = await app.givenUser("root", { admin: true });
    for (const [path, native, { token }] of [
      ["/project/anna/forge/repositories", "/registry/project/anna/forge/repository", anna],
      ["/registry/instance/repositories", "/registry/instance/repository", root],
    ] as const) {
      const own = repositoriesAt(app, path, token);
      const { repositoryUuid: id } = await own.local("open-crates", "cargo");
      const content = crate("open", "1.0.0");
      const stored = await fetch(`${app.url}${native}/open-crates/api/v1/crates/new`, {
        method: "PUT",
        headers: { authorization: token },
        body: new Uint8Array(framed({ name: "open", vers: "1.0.0" }, content)),
      });
      expect(stored.status, await stored.text()).to.equal(200);
      const file = `${app.url}${path}/${id}/cargo/open/1.0.0`;
      expect((await fetch(file)).status, path).to.equal(403);
      await own.change(id, { type: "LOCAL", settings: { hasAnonymousAccess: true } });
      const answer = await fetch(file);
      expect(answer.status, path).to.equal(200);
      expect(Buffer.from(await answer.arrayBuffer()).equals(content)).to.equal(true);
      expect((await fetch(`${file}.0`)).status, path).to.equal(404);
    }
  });

  it("names those who may publish as owners, and lets roles say who they are", async () => {
    const dora = await app.givenUser("dora");
    const gast = await app.givenUser("gast");
    for (const [user, role] of [
      [dora, "DEVELOPER"],
      [gast, "GUEST"],
    ] as const) {
      const body = { userAlias: user.alias, role };
      await app.post("/project/anna/forge/member/invite", { token: anna.token, body });
    }
    expect(
      (await publish(framed({ name: "owned", vers: "1.0.0" }, crate("owned", "1.0.0")))).status,
    ).to.equal(200);
    const at = `${base}/api/v1/crates/owned/owners`;
    const listed = (await (await fetch(at, { headers })).json()) as {
      users: { id: number; login: string }[];
    };
    expect(listed.users.map(({ login }) => login)).to.deep.equal(["anna", "dora"]);
    for (const { id } of listed.users) expect(id).to.be.within(0, 0xffffffff);
    const send = async (method: string, users: unknown, to = at, as = headers) =>
      (
        await fetch(to, {
          method,
          headers: { ...as, "content-type": "application/json" },
          body: JSON.stringify({ users }),
        })
      ).status;
    expect(await send("PUT", ["DORA"])).to.equal(200);
    expect(await send("PUT", ["dora", "gast"])).to.equal(422);
    expect(await send("DELETE", ["gast"])).to.equal(200);
    expect(await send("DELETE", ["dora"])).to.equal(422);
    for (const bad of [undefined, [], "dora", [1]]) expect(await send("PUT", bad)).to.equal(422);
    expect(await send("PUT", ["dora"], at.replace("owned", "none"))).to.equal(404);
    const asGuest = { ...headers, authorization: gast.token };
    expect(await send("PUT", ["dora"], at, asGuest)).to.equal(403);
    expect((await fetch(at, { headers: asGuest })).status).to.equal(403);
    expect((await fetch(at)).status).to.equal(401);
  });

  it("refuses what is cut, longer than it says, of another name or there already", async () => {
    const head = await app.head();
    const content = crate("strict", "1.0.0");
    const document = { name: "strict", vers: "1.0.0" };
    const whole = framed(document, content);
    const bodies: readonly (readonly [Buffer, number])[] = [
      [Buffer.alloc(0), 400],
      [whole.subarray(0, 20), 400],
      [whole.subarray(0, -1), 400],
      [Buffer.concat([whole, Buffer.from("x")]), 400],
      [framed(document, content, 0xffffffff), 400],
      [framed({ ...document, name: "other" }, content), 422],
      [framed({ ...document, vers: "2.0.0" }, content), 422],
      [framed(document, Buffer.from("no crate")), 422],
      [framed({}, content), 422],
    ];
    for (const [body, status] of bodies) {
      const answer = await publish(body);
      expect(answer.status, await answer.clone().text()).to.equal(status);
      expect(await answer.json()).to.have.property("errors");
    }
    expect(await app.head()).to.equal(head);
    expect((await publish(whole)).status).to.equal(200);
    const other = framed(document, crate("strict", "1.0.0", "[features]\na = []\n"));
    expect((await publish(other)).status, "although OVERRIDE is on").to.equal(409);
  });
});
