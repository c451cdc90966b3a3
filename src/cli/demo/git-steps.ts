import path from "node:path";

import { isThere } from "../../platform/if-there.ts";
import { invariant } from "../../platform/invariant.ts";
import { type Demo, project, type Step } from "./steps.ts";

/** Where to push from, and to: the password goes along in the address, as a person may do it. */
async function places({ folder, service, password, shell }: Demo) {
  const address = new URL(`${service.url}${project}.git`);
  address.username = "admin";
  address.password = password;
  shell.hide(address.password);
  return { source: path.join(folder, "source"), remote: address.href, folder };
}

const lines = (text: string): readonly string[] => text.trim().split("\n");

export const gitSteps: readonly Step[] = [
  {
    title: "A repository with history: this one, or a small one where there is none",
    async run(demo) {
      const { source } = await places(demo);
      if (await isThere(".git")) {
        await demo.shell.run("git", ["clone", "-q", ".", source]);
        await demo.shell.run("git", ["-C", source, "checkout", "-q", "-B", "main"]);
      } else {
        await smallHistory(demo, source);
      }
      const count = await demo.shell.run("git", ["-C", source, "rev-list", "--count", "HEAD"]);
      return `${count.trim()} commits`;
    },
  },
  {
    title: "Push over HTTP, clone back, compare",
    async run(demo) {
      const { source, remote, folder } = await places(demo);
      const { shell } = demo;
      await shell.run("git", ["-C", source, "push", "-q", remote, "main"]);
      const clone = path.join(folder, "clone");
      await shell.run("git", ["clone", "-q", remote, clone]);
      await shell.run("git", ["-C", clone, "fsck", "--full"]);
      const [there] = lines(await shell.run("git", ["-C", clone, "rev-parse", "HEAD"]));
      const [here] = lines(await shell.run("git", ["-C", source, "rev-parse", "main"]));
      invariant(here === there, "the clone's HEAD is what was pushed");
      return `equal at ${here}`;
    },
  },
  {
    title: "Shallow and partial clones, protocol versions 2 and 0",
    async run(demo) {
      const { remote, folder } = await places(demo);
      const { shell } = demo;
      const shallow = path.join(folder, "shallow");
      await shell.run("git", ["clone", "-q", "--depth=1", remote, shallow]);
      const count = await shell.run("git", ["-C", shallow, "rev-list", "--count", "HEAD"]);
      invariant(count.trim() === "1", "a shallow clone has one commit");
      const partial = path.join(folder, "partial");
      await shell.run("git", [
        "clone",
        "-q",
        "--filter=blob:none",
        "--no-checkout",
        remote,
        partial,
      ]);
      const versions = ["2", "0"];
      for (const version of versions) {
        await shell.run("git", ["-c", `protocol.version=${version}`, "ls-remote", remote]);
      }
      return "all of them";
    },
  },
  {
    title: "A branch, a tag, a forced push and a deletion",
    async run(demo) {
      const { source, remote } = await places(demo);
      const git = (...args: readonly string[]) => demo.shell.run("git", ["-C", source, ...args]);
      await git("checkout", "-q", "-b", "topic");
      await git("commit", "-q", "--allow-empty", "-m", "Try something");
      await git("push", "-q", remote, "topic", "topic:short-lived");
      await git("tag", "-m", "First tag", "v0.0.1-demo");
      await git("push", "-q", remote, "v0.0.1-demo");
      await git("commit", "-q", "--amend", "--allow-empty", "-m", "Try something else");
      await git("push", "-q", "--force", remote, "topic");
      await git("push", "-q", remote, "--delete", "short-lived");
      const refs = lines(await git("ls-remote", remote, "refs/*"));
      return `${refs.length} refs left`;
    },
  },
];

async function smallHistory({ shell }: Demo, source: string): Promise<void> {
  await shell.run("git", ["init", "-q", "-b", "main", source]);
  for (const subject of ["First", "Second", "Third"]) {
    await shell.run("git", ["-C", source, "commit", "-q", "--allow-empty", "-m", subject]);
  }
}
