import path from "node:path";
import { expect } from "chai";
import { refRecorder } from "../../../src/services/git/ref-recorder.ts";
import { countPushes } from "../../../src/workers/user/push-count.ts";
import { givenPushCounts, never } from "../../support/app/push-counts.ts";
import { commit, git } from "../../support/git/git.ts";

const given = await givenPushCounts();
const { deps, pushed, recordedCounts } = given;

describe("a worker that counts pushes", () => {
  it("counts once although it dies before or after it has written", async () => {
    await commit(given.copy, "One", { "a.ts": "1" });
    await pushed("main");
    for (const written of [false, true]) {
      const append: typeof deps.store.append = async (...args) => {
        if (written) await deps.store.append(...args);
        throw new Error("the process died");
      };
      const dying = { ...deps, store: { ...deps.store, append } };
      await expect(countPushes(dying, given.projectId, 0, never)).to.be.rejectedWith("died");
    }
    for (let run = 0; run < 2; run += 1) await countPushes(deps, given.projectId, 0, never);

    expect(await recordedCounts()).to.have.length(1);
    expect((await recordedCounts())[0]).to.deep.include({
      commits: 1,
      extensions: { ts: 1 },
      userId: null,
    });
  });

  it("counts once although several do it at the same moment", async () => {
    await commit(given.copy, "One", { "a.ts": "1" });
    await pushed("main");
    await Promise.all(
      Array.from({ length: 4 }, () => countPushes(deps, given.projectId, 0, never)),
    );
    expect(await recordedCounts()).to.have.length(1);
  });

  it("reads a history of many commits as it comes", async () => {
    const commits = 3_000;
    const lines = ["reset refs/heads/main"];
    for (let n = 1; n <= commits; n += 1) {
      lines.push("commit refs/heads/main", "committer C <c@example.test> 1700000000 +0000");
      lines.push("data 1", "x", `M 644 inline f${n % 50}.${n % 2 === 0 ? "ts" : "md"}`);
      lines.push("data 8", `${n}`.padStart(8, "0"));
    }
    const { exec } = await import("node:child_process");
    await new Promise<void>((resolve, reject) => {
      const child = exec("git fast-import --quiet", { cwd: given.copy }, (error) =>
        error === null ? resolve() : reject(error),
      );
      child.stdin?.end(`${lines.join("\n")}\n`);
    });
    await git(path.join(given.copy), "push", "--quiet", given.gitDir, "main");
    await refRecorder(deps).reconcile(given.projectId);
    await countPushes(deps, given.projectId, 0, never);
    expect((await recordedCounts())[0]).to.deep.include({
      commits,
      extensions: { ts: commits / 2, md: commits / 2 },
    });
  });
});
