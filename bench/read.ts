import { commit, git, workingCopy } from "../test/support/git/git.ts";
import { rate } from "./load.ts";
import { withService } from "./service.ts";

/** Reads through the service, against a bare node:http server that answers the same bytes. */
await withService(async ({ service, directory, authorization, project }) => {
  const copy = await workingCopy(directory, "copy");
  const id = await commit(copy, "One", {
    "src/deep/file.ts": "export const one = 1;\n".repeat(200),
  });
  await git(copy, "push", "--quiet", await project("read"), "main");
  const path = `${service.url}/project/bench/read`;

  for (const [name, url] of [
    ["GET project", path],
    ["GET blob", `${path}/blob?commitHash=${id}&file=src/deep/file.ts`],
    ["GET commit", `${path}/commit/${id}`],
    ["GET branch list", `${path}/branch`],
  ] as const) {
    await rate(name, url, authorization);
  }
  const blob = `${path}/blob?commitHash=${id}&file=src/deep/file.ts`;
  await rate("GET blob, 304", blob, authorization, { held: true });
});
