import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { logKeyOf } from "../../../../src/platform/key/log-key.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { headOf } from "../../../support/client/log-head.ts";
import { runCli } from "../../../support/process/cli.ts";

const app = await startTestApp();

let anna: TestUser;
before(async () => {
  anna = await app.givenUser("anna");
  await app.givenProject(anna, "search");
});

const head = () => headOf(app, anna);

describe("the proofs of the log", () => {
  it("is verified by the program against a head kept in a file", async () => {
    const kept = await head();
    await app.givenProject(anna, "later");
    const file = path.join(app.dataDir, "head.json");
    await writeFile(file, JSON.stringify(kept));
    const good = await runCli(app, "audit", "verify", "--head", file);
    expect(good.out).to.match(new RegExp(`^The first ${kept.size} events are those`));
    expect(good.code).to.equal(0);

    await writeFile(file, JSON.stringify({ ...kept, size: kept.size - 1 }));
    const changed = await runCli(app, "audit", "verify", "--head", file);
    expect([changed.code, changed.out]).to.deep.equal([
      1,
      "The head was not signed by this instance, or was changed since.\n",
    ]);
    await writeFile(file, JSON.stringify(kept).slice(0, -9));
    const cut = await runCli(app, "audit", "verify", "--head", file);
    expect([cut.code, cut.out]).to.deep.equal([
      78,
      `${file} does not hold an answer of /log/head.\n`,
    ]);
    const absent = await runCli(app, "audit", "verify", "--head", `${file}.none`);
    expect([absent.code, absent.out]).to.deep.equal([
      78,
      `${file}.none cannot be read (ENOENT).\n`,
    ]);
  });

  it("names the place where the log is not what a head was signed for, if a leaf shows it", async () => {
    const kept = await head();
    const root = createHash("sha256").update("another log").digest();
    const [size, timestamp] = [BigInt(kept.size), "2026-01-02T03:04:05.000Z"];
    const origin = kept.checkpoint.split("\n", 1)[0] ?? "";
    const signature = logKeyOf(app.deps.vault, origin).signature({ size, root, timestamp });
    const other = { ...kept, timestamp, rootHash: root.toString("base64") };
    const file = path.join(app.dataDir, "other-head.json");
    await writeFile(file, JSON.stringify({ ...other, signature: signature.toString("base64") }));
    const verified = () => runCli(app, "audit", "verify", "--head", file);
    const same = await verified();
    expect(same.code, same.out).to.equal(1);
    expect(same.out)
      .to.include("is not what the head of 2026-01-02T03:04:05.000Z was signed for")
      .and.to.include("they do not show where it differs")
      .and.to.include("a log that parted from this one");

    const entry = await app.deps.db("audit_entry").where({ type: "ProjectCreated" }).first();
    const changed = app.deps.db("log_tree_leaf").where({ position: entry.position });
    const leaf = await changed.clone().first();
    await changed.clone().update({ hash: root });
    const found = await verified();
    await changed.clone().update({ hash: leaf.hash });
    expect(found.code, found.out).to.equal(1);
    expect(found.out).to.include(
      `ProjectCreated at ${entry.position} in ${entry.stream} was changed`,
    );
  });
});
