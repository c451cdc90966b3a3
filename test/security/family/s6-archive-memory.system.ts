import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { expect } from "chai";

import { archiveStream } from "../../../src/git/archive.ts";
import { type PackProcess, startTalkingService } from "../../../src/git/pack-service.ts";
import { flushPacket, packet } from "../../../src/git/pkt-line.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

/** Placeholders of 16 KiB each in a file of a megabyte: git expands a file in memory before it writes. */

const parent = await temporaryDirectory();
const copy = await workingCopy(parent, "copy");
const gitDir = `${copy}/.git`;
const placeholder = "$Format:%<(16384)%s$\n";
let wide: string;

before(async () => {
  wide = await commit(copy, "Wide", {
    ".gitattributes": "wide.txt export-subst\n",
    "wide.txt": placeholder.repeat(45_000),
    "small.txt": "small\n",
  });
  await git(copy, "tag", "wide");
});

async function archived(id: string): Promise<number> {
  let bytes = 0;
  for await (const chunk of archiveStream({ gitDir }, id, { format: "tar.gz", directory: "d" })) {
    bytes += (chunk as Buffer).length;
  }
  return bytes;
}

/** As `git archive --remote` sends over SSH; gitprotocol of git-upload-archive(1). */
function archiveRemotely(ref: string): PackProcess {
  const child = startTalkingService(gitDir, "upload-archive", undefined);
  for (const argument of ["--format=tar", ref]) {
    child.stdin.write(packet(`argument ${argument}\n`));
  }
  child.stdin.end(flushPacket);
  return child;
}

async function printed(child: PackProcess): Promise<Readonly<{ text: string; bytes: number }>> {
  let [text, bytes] = ["", 0];
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    text = (text + chunk.toString("latin1")).slice(-5_000);
  });
  child.stderr.resume();
  await once(child, "close");
  return { text, bytes };
}

describe("security class S6: an archive", () => {
  it("of a file that expands to more memory than allowed is refused", async () => {
    await expect(archived(wide)).to.be.rejectedWith(/attempting to allocate|out of memory/i);
  });

  it("of it is refused over SSH as well", async () => {
    const { text } = await printed(archiveRemotely("wide"));
    expect(text).to.match(/attempting to allocate|out of memory/i);
  });

  it("of an ordinary commit that substitutes is made", async () => {
    const plain = await commit(copy, "Plain", {
      ".gitattributes": "wide.txt export-subst\n",
      "wide.txt": placeholder.repeat(50),
    });
    expect(await archived(plain)).to.be.greaterThan(100);
    expect((await printed(archiveRemotely("main"))).bytes).to.be.greaterThan(50 * 16_384);
  });

  if (process.platform === "linux") {
    it("is made under a limit of the kernel, by whichever program", async () => {
      const child = startTalkingService(gitDir, "upload-archive", undefined);
      let limits = "";
      // The shell sets the limit and becomes git.
      while (!limits.includes("1073741824")) {
        const text = await readFile(`/proc/${child.pid}/limits`, "utf8");
        limits = /^Max data size.*$/m.exec(text)?.[0] ?? "";
        expect(child.exitCode, limits).to.equal(null);
      }
      child.kill("SIGKILL");
      await once(child, "close");
    });
  }
});
