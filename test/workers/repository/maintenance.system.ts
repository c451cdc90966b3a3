import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { held } from "../../../src/git/push/hold.ts";
import { repositoryMaintenanceWorker } from "../../../src/workers/repository/maintenance.ts";
import { commit, git, workingCopy } from "../../support/git/git.ts";
import { givenRepositories, never } from "../../support/git/maintained.ts";
import { needsProgram } from "../../support/process/program.ts";

const { dataDir, repositories, deps } = await givenRepositories();

describe("maintenance of a repository", () => {
  describe("beside pushes", () => {
    needsProgram("flock");

    it("loses nothing of pushes and breaks no fetch meanwhile, and is at a repository one at a time", async () => {
      const id = randomUUID();
      const { gitDir } = await repositories.ensure(id, "main");
      // As the service does: without this lock, upkeep takes a push for one that was killed, and loose objects
      // would go into directories that upkeep removes when it finds them empty.
      const [program, args] = held(gitDir, "pushing", [
        "-c",
        "transfer.unpackLimit=1",
        "receive-pack",
      ]);
      const receivePack = `--receive-pack=${[program, ...args].join(" ")}`;
      const pushersMax = 4;
      const copies = await Promise.all(
        Array.from({ length: pushersMax }, (_, n) => workingCopy(dataDir, `pusher-${n}`)),
      );
      const send = (copy: string, refs: string) =>
        git(copy, "push", "--quiet", receivePack, gitDir, refs);
      const push = async (copy: string, n: number): Promise<string> => {
        let head = "";
        for (let index = 0; index < 6; index += 1) {
          head = await commit(copy, `${n}.${index}`, { "a.txt": `${n} ${index}\n` });
          await send(copy, `main:refs/heads/branch-${n}`);
          await send(copy, `main:refs/tags/tag-${n}-${index}`);
        }
        return head;
      };
      let pushing = true;
      const maintaining = Array.from({ length: 2 }, async () => {
        while (pushing) await repositoryMaintenanceWorker.runJob({ projectId: id }, deps, never);
      });
      let fetched = 0;
      const fetching = (async () => {
        const reader = await workingCopy(dataDir, "reader");
        const all = ["--prune", gitDir, "+refs/*:refs/remotes/all/*"];
        for (; pushing; fetched += 1) await git(reader, "fetch", "--quiet", ...all);
        await git(reader, "fsck", "--full", "--strict");
      })();
      const heads = await Promise.all(copies.map(push)).finally(() => {
        pushing = false;
      });
      await Promise.all([...maintaining, fetching]);
      expect(fetched).to.be.greaterThan(1);
      await git(gitDir, "fsck", "--full", "--strict");
      for (const [n, head] of heads.entries()) {
        expect(await git(gitDir, "rev-parse", `refs/heads/branch-${n}`)).to.equal(head);
      }
      const tags = await git(gitDir, "for-each-ref", "--format=%(refname)", "refs/tags");
      expect(tags.split("\n")).to.have.length(pushersMax * 6);
    });
  });
});
