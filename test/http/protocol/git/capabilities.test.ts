import { expect } from "chai";
import { type PackProcess, startPackService } from "../../../../src/git/pack-service.ts";
import { uploadCapabilities } from "../../../../src/http/protocol/git/capabilities.ts";
import { git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";

const parent = await temporaryDirectory();
let gitDir: string;
let started = 0;
const hourMs = 60 * 60_000;

before(async () => {
  gitDir = await workingCopy(parent, "copy");
});

const start = (): PackProcess => {
  started += 1;
  return startPackService(`${gitDir}/.git`, "upload-pack", {
    advertise: true,
    protocol: "version=2",
  });
};
const startNowhere = () =>
  startPackService(`${gitDir}/nowhere`, "upload-pack", { advertise: true, protocol: "version=2" });

describe("what git can do", () => {
  it("is queried from git once in a while, and is git's own answer", async () => {
    const now = Date.now() + hourMs;
    const first = await uploadCapabilities(start, now);
    expect(started).to.equal(1);
    expect(first?.toString()).to.match(/^000eversion 2\n/);
    expect(first?.toString()).to.contain("fetch=").and.to.match(/0000$/);
    expect(await uploadCapabilities(start, now + 1_000)).to.deep.equal(first);
    expect(started).to.equal(1);
    await uploadCapabilities(start, now + hourMs);
    expect(started).to.equal(2);
  });

  it("is not made up when git fails, and nothing is kept of that", async () => {
    const now = Date.now() + 5 * hourMs;
    const failed = await uploadCapabilities(startNowhere, now).catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(Error);
    expect((await uploadCapabilities(start, now))?.length).to.be.greaterThan(0);
  });

  it("is independent of the repository that it was read from", async () => {
    const other = await workingCopy(parent, "other");
    await git(other, "commit", "--quiet", "--allow-empty", "-m", "One");
    const at = Date.now() + 10 * hourMs;
    const first = await uploadCapabilities(start, at);
    gitDir = other;
    expect(await uploadCapabilities(start, at + hourMs)).to.deep.equal(first);
  });
});
