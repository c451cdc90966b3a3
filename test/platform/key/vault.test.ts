import { randomBytes, randomUUID } from "node:crypto";
import { expect } from "chai";

import { Sealed } from "../../../src/events/core/sealed.ts";
import { NotOpened, openVault, WrongSecretKey } from "../../../src/platform/key/vault.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

describe("an empty vault", () => {
  it("takes the first key of one SECRET_KEY when processes with others start at once", async () => {
    const vaults = Array.from({ length: 4 }, (_, n) =>
      openVault(db, `secret key ${n} of the suite`),
    );
    const sealed = await Promise.allSettled(vaults.map((each, n) => each.seal(`user-${n}`, "x")));
    const reasons = sealed.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(reasons).to.have.length(3);
    for (const reason of reasons) expect(reason).to.be.instanceOf(WrongSecretKey);
    expect(await db("vault_key")).to.have.length(1);
    await db("vault_key").delete();
  });
});

describe("the vault", () => {
  const secret = "a secret key of the test suite";
  const subject = `user-${randomUUID()}`;

  it("opens what it sealed, also from another process", async () => {
    const sealed = await openVault(db, secret).seal(subject, "anna@example.org ✓");
    expect(sealed).not.to.include("anna@");
    expect(await openVault(db, secret).open(sealed)).to.equal("anna@example.org ✓");
  });

  it("never seals the same text to the same bytes", async () => {
    const vault = openVault(db, secret);
    expect(await vault.seal(subject, "x")).not.to.equal(await vault.seal(subject, "x"));
  });

  it("agrees on one key when many seal for a new subject at once", async () => {
    const fresh = `project-${randomUUID()}`;
    const vaults = Array.from({ length: 8 }, () => openVault(db, secret));
    const sealed = await Promise.all(vaults.map((vault, n) => vault.seal(fresh, `secret ${n}`)));
    const reader = openVault(db, secret);
    expect(await Promise.all(sealed.map((text) => reader.open(text)))).to.deep.equal(
      sealed.map((_, n) => `secret ${n}`),
    );
  });

  it("reads the keys of what is opened together in one statement", async () => {
    const vault = openVault(db, secret);
    const subjects = Array.from({ length: 20 }, () => `user-${randomUUID()}`);
    const sealed = await Promise.all(subjects.map((each) => vault.seal(each, each)));
    let statements = 0;
    const count = (): void => {
      statements += 1;
    };
    db.on("query", count);
    const other = openVault(db, secret);
    const opened = await Promise.all(sealed.map((text) => other.open(text)));
    db.off("query", count);
    expect(opened).to.deep.equal(subjects);
    expect(statements).to.equal(1);
  });

  it("gives null for what was sealed for a user who was forgotten since", async () => {
    const gone = `user-${randomUUID()}`;
    const vault = openVault(db, secret);
    const other = openVault(db, secret);
    const sealed = await vault.seal(gone, "private");
    expect(await other.open(sealed)).to.equal("private");
    await vault.forget(gone);
    expect(await vault.open(sealed)).to.equal(null);
    await eventually(async () => expect(await other.open(sealed)).to.equal(null));
  });

  it("gives null for it as well once something was sealed for that user again", async () => {
    const gone = `user-${randomUUID()}`;
    const vault = openVault(db, secret);
    const before = await vault.seal(gone, "private");
    await vault.forget(gone);
    const after = await vault.seal(gone, "a request that was under way");
    expect(await vault.open(before)).to.equal(null);
    expect(await vault.open(after)).to.equal("a request that was under way");
  });

  it("makes no key with a SECRET_KEY that opens none of those that are there", async () => {
    const wrong = openVault(db, "another key of the test suite");
    const fresh = `user-${randomUUID()}`;
    await expect(wrong.seal(fresh, "x")).to.be.rejectedWith(WrongSecretKey);
    expect(await db("vault_key").where({ subject: fresh })).to.deep.equal([]);
  });

  it("takes a SECRET_KEY that opens one of many keys for the right one", async () => {
    // Keys that another SECRET_KEY wrapped, before the right one in the order of subjects.
    const subjects = Array.from({ length: 250 }, (_, n) => `a-${n}`);
    const rows = subjects.map((name) => ({ subject: name, wrapped: randomBytes(60) }));
    await db("vault_key").insert(rows);
    const fresh = `user-${randomUUID()}`;
    await openVault(db, secret).seal(fresh, "x");
    expect(await db("vault_key").where({ subject: fresh })).to.have.length(1);
    await db("vault_key").whereIn("subject", subjects).delete();
  });

  it("refuses text that was altered or moved to another subject", async () => {
    const vault = openVault(db, secret);
    const other = `user-${randomUUID()}`;
    await vault.seal(other, "so that there is a key");
    const sealed = await vault.seal(subject, "private");
    const moved = Sealed.parse(sealed.replace(subject, other));
    await expect(vault.open(moved)).to.be.rejectedWith(NotOpened);
    const [, , box = ""] = sealed.split(".");
    const bytes = Buffer.from(box, "base64url");
    // A last letter may hold bits that mean nothing, so that another one reads the same.
    for (const at of [0, 20, bytes.length - 1]) {
      const altered = Buffer.from(bytes);
      altered[at]! ^= 1;
      const text = sealed.replace(box, altered.toString("base64url"));
      await expect(vault.open(Sealed.parse(text)), `byte ${at}`).to.be.rejectedWith(NotOpened);
    }
  });

  it("cannot read with another secret key", async () => {
    const sealed = await openVault(db, secret).seal(subject, "private");
    await expect(openVault(db, "another secret key of the suite").open(sealed)).to.be.rejected;
  });

  it("digests by purpose and by secret key", () => {
    const vault = openVault(db, secret);
    const digest = vault.digest("email", "anna@example.org");
    expect(digest).to.match(/^[0-9a-f]{64}$/);
    expect(vault.digest("email", "anna@example.org")).to.equal(digest);
    expect(vault.digest("other", "anna@example.org")).not.to.equal(digest);
    expect(openVault(db, "another secret key").digest("email", "anna@example.org")).not.to.equal(
      digest,
    );
  });
});
