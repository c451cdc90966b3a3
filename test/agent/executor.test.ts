import { mkdir, symlink } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { coversOf } from "../../src/agent/executor.ts";
import { temporaryDirectory } from "../support/git/git.ts";

describe("what a sandbox hides", () => {
  it("is covered below every directory that shows it, by whatever name", async () => {
    const root = await temporaryDirectory();
    const at = (name: string): string => path.join(root, name);
    await mkdir(at("opt/forge/data/agent"), { recursive: true });
    await mkdir(at("opt/forge..old"));
    await mkdir(at("home/agent"), { recursive: true });
    await symlink(at("opt/forge"), at("forge"));
    await symlink(at("opt/forge/data"), at("data"));
    const binds = [at("opt"), at("forge"), at("opt/forge/data"), at("opt/forge..old"), at("gone")];
    const hidden = [at("data"), at("opt/forge/data/agent"), at("home/agent"), at("missing")];
    const covered = ["forge/data", "forge/data/agent", "opt/forge/data", "opt/forge/data/agent"];
    const expected = covered.flatMap((each) => ["--tmpfs", at(each)]);
    expect(await coversOf(binds, hidden)).to.deep.equal(expected);
    expect(await coversOf([at("home")], [at("home/agent"), at("home")])).to.deep.equal(
      [at("home"), at("home/agent")].flatMap((each) => ["--tmpfs", each]),
    );
  });
});
