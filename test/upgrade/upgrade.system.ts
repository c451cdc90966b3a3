import { execFileSync } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { build, runProgram, type Service, startService } from "../support/app/service.ts";
import { temporaryDirectory } from "../support/git/git.ts";
import { differences, type Kept } from "../support/process/differences.ts";
import { freePort } from "../support/process/free-port.ts";
import { needsProgram, skipFor } from "../support/process/program.ts";

/**
 * `instance.tar.xz` is the DATA_DIR of a small instance of commit 264057e5 after its stop, with the secret key and all
 * tokens: a test instance that holds nothing of anybody. `answers.json` is what that commit answered, without
 * ids of requests, ages in words and last uses. Its last purge of a project was made with PROJECT_RETENTION_DAYS=0.
 */
const folder = path.resolve("test/upgrade");
/** Times of the last change that a comment or note makes later since. */
const discussedAt: Readonly<Record<string, string>> = {
  "2026-11-29T00:21:56.686Z": "2026-11-29T00:21:57.761Z",
};
/** What differs until the read models are built again. */
const isFormer = (difference: string): boolean =>
  Object.entries(discussedAt).some(([before, after]) =>
    difference.endsWith(`/updatedAt: ${after} is ${before}`),
  );
const { token, answers } = JSON.parse(
  await readFile(path.join(folder, "answers.json"), "utf8"),
  (key, value) => (key === "updatedAt" ? (discussedAt[value] ?? value) : value),
) as Kept;

/** Members of answers that the kept ones lack. */
const newMembers: readonly string[] = [
  ...["approvedBy", "autoMergeDropped", "maintainers", "refsDeleted", "rules", "warnings"],
];

/** What depends on the time and the address of the old instance. */
const environment = {
  PUBLIC_URL: "http://127.0.0.1:18471",
  PROJECT_RETENTION_DAYS: "36500",
  WEBHOOK_LOG_RETENTION_DAYS: "36500",
};

const platform = `${process.platform}-${process.arch}`;
const runs = platform === "linux-x64" ? [] : ["the kept cluster of PostgreSQL is of linux-x64"];
if (skipFor(runs) && needsProgram("tar", "xz")) {
  describe("an instance of an earlier release", function () {
    this.timeout(120_000);
    let service: Service;
    const early: Early = { wrong: [], statuses: new Map() };

    before(async () => {
      const dataDir = path.join(await temporaryDirectory(), "data");
      await mkdir(dataDir, { mode: 0o700 });
      const archive = path.join(folder, "instance.tar.xz");
      execFileSync("tar", ["-xJf", archive, "-C", dataDir, "--no-same-owner"]);
      build();
      const port = await freePort();
      const watching = new AbortController();
      const watched = watch(`http://127.0.0.1:${port}`, early, watching.signal);
      service = await startService(dataDir, { ...environment, PORT: String(port) });
      await watched.finally(() => watching.abort());
    });
    after(() => service?.stop());

    it("answers as before or 503 with Retry-After while its read models are built again", () => {
      expect(early.wrong).to.deep.equal([]);
      expect([...early.statuses.keys()]).to.include(200);
    });

    it("answers all as before once they are built", async () => {
      const found = new Set<string>();
      for (const at of Object.keys(answers)) {
        const { wrong, added } = await compared(service.url, at);
        expect(wrong, at).to.deep.equal([]);
        for (const member of added) found.add(member);
      }
      expect([...found].sort()).to.deep.equal(newMembers);
    });

    it("takes writes and shows them", async () => {
      const body = JSON.stringify({ title: "After the upgrade", description: "It goes on." });
      const headers = { authorization: `token ${token}`, "content-type": "application/json" };
      const at = `${service.url}/project/builders/tool/issue`;
      const created = await fetch(at, { method: "POST", headers, body });
      expect(created.status).to.equal(200);
      const { localId } = (await created.json()) as { localId: number };
      const read = await fetch(`${at}/${localId}`, { headers });
      expect(await read.json()).to.include({ localId, title: "After the upgrade" });
    });

    for (const args of [["rebuild", "--verify"], ["doctor"], ["audit", "verify"]]) {
      it(`passes \`ledgerforge ${args.join(" ")}\``, async () => {
        const program = runProgram(args, { DATA_DIR: service.dataDir });
        const [code] = await program.exited;
        expect(code, program.output()).to.equal(0);
      });
    }
  });
}

type Early = { readonly wrong: string[]; readonly statuses: Map<number, number> };

/** Requests for everything again and again, from the first answer until every read model is live. */
async function watch(url: string, early: Early, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const isReady = await fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => undefined,
    );
    if (isReady === true) return;
    if (isReady === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
    else for (const at of Object.keys(answers)) await send(url, at, early);
  }
}

async function send(url: string, at: string, { wrong, statuses }: Early): Promise<void> {
  const { status, retryAfter, wrong: all } = await compared(url, at);
  const differing = all.filter((difference) => !isFormer(difference));
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (status === 503 && retryAfter !== null) return;
  if (differing.length > 0) wrong.push(`${status} ${at}: ${differing.slice(0, 3).join(", ")}`);
}

async function compared(url: string, at: string) {
  const answer = await fetch(url + at, { headers: { authorization: `token ${token}` } });
  const text = await answer.text();
  const seen = { status: answer.status, body: isJson(answer) ? JSON.parse(text) : text };
  const retryAfter = answer.headers.get("retry-after");
  return { status: answer.status, retryAfter, ...differences(answers[at], seen) };
}

const isJson = (answer: Response): boolean =>
  /[/+]json/.test(answer.headers.get("content-type") ?? "");
