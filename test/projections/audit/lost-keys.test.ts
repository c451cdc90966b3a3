import { randomBytes, randomUUID } from "node:crypto";
import { expect } from "chai";
import { userSubject } from "../../../src/events/user/user.ts";
import { NotOpened, openVault } from "../../../src/platform/key/vault.ts";
import {
  findLostKeys,
  KeysLost,
  mustHaveKeys,
  noteLostKeys,
} from "../../../src/projections/audit/lost-keys.ts";
import { append } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const secretKey = "a secret key of more than enough characters";
const newVault = () => openVault(db, secretKey);
const [kept, keyless, replaced, forgotten] = Array.from({ length: 4 }, randomUUID);
const subjects = [kept, keyless, replaced, forgotten].map((id) => userSubject(String(id)));
const [, ofKeyless = "", ofReplaced = "", ofForgotten = ""] = subjects;

/** Their keys are wrapped by another SECRET_KEY. */
const [ofOther, withoutText] = [userSubject(randomUUID()), userSubject(randomUUID())];

const dropKeys = (...names: readonly string[]) =>
  db("vault_key").whereIn("subject", names).delete();
const find = () =>
  findLostKeys({ db, store, vault: newVault(), secretKey }, new AbortController().signal);
const none = { keyless: [], forgotten: [], replaced: [], wrappedByOther: [] };

describe("keys that are lost", () => {
  it("are none while the log has nothing sealed", async () => {
    await append(store, "parcel-1", { type: "ParcelPosted", data: { note: "not sealed" } });
    await mustHaveKeys({ db, store });
  });

  it("keep a database without keys from a log with sealed texts", async () => {
    for (const subject of subjects) {
      const data = { nested: [{ email: await newVault().seal(subject, "anna@example.org") }] };
      await append(store, `${subject}`, { type: "UserRegistered", data });
    }
    await mustHaveKeys({ db, store });
    const keys = await db("vault_key").select("subject", "wrapped");
    await db("vault_key").delete();
    await expect(mustHaveKeys({ db, store })).to.be.rejectedWith(KeysLost);
    await db("vault_key").insert(keys);
    await mustHaveKeys({ db, store });
    expect(await find()).to.deep.equal(none);
  });

  it("are those without a key and those with another, not of people who were forgotten", async () => {
    await append(store, ofForgotten, { type: "UserForgotten", data: {} });
    await dropKeys(ofKeyless, ofReplaced, ofForgotten);
    // Another process, which has no key in memory.
    await newVault().seal(ofReplaced, "sealed by a new key");
    expect(await find()).to.deep.equal({
      keyless: [ofKeyless],
      forgotten: [ofForgotten],
      replaced: [ofReplaced],
      wrappedByOther: [],
    });
  });

  it("are those that another SECRET_KEY wrapped, also without a text in the log", async () => {
    const subjects = [ofOther, withoutText];
    await db("vault_key").insert(
      subjects.map((subject) => ({ subject, wrapped: randomBytes(60) })),
    );
    const email = `sealed.${ofOther}.${randomBytes(60).toString("base64url")}`;
    await append(store, ofOther, { type: "UserRegistered", data: { email } });
    const { replaced: found, wrappedByOther } = await find();
    expect(found).to.deep.equal([ofReplaced]);
    expect(wrappedByOther).to.have.members(subjects);
    await expect(newVault().seal(ofOther, "not noted")).to.be.rejectedWith(NotOpened);
  });

  it("read as forgotten once they are noted", async () => {
    await noteLostKeys(db, await find());
    expect(await find()).to.deep.equal(none);
  });

  it("let their subjects have other ones once they are noted", async () => {
    const vaults = Array.from({ length: 4 }, newVault);
    const sealed = await Promise.all(vaults.map((vault, n) => vault.seal(ofOther, `text ${n}`)));
    const texts = await Promise.all(sealed.map((text) => newVault().open(text)));
    expect(texts).to.deep.equal(["text 0", "text 1", "text 2", "text 3"]);
    await newVault().seal(withoutText, "the first text for it");
    await db("vault_key").delete();
    await mustHaveKeys({ db, store });
  });

  it("let a log start whose people were all forgotten", async () => {
    await db("vault_key_gone").delete();
    await noteLostKeys(db, { ...none, forgotten: [ofForgotten] });
    await mustHaveKeys({ db, store });
  });

  it("are looked for by few statements, however many subjects there are", async () => {
    await db("vault_key_gone").delete();
    const many = Array.from({ length: 100 }, () => userSubject(randomUUID()));
    const vault = newVault();
    for (const subject of many) {
      const data = { email: await vault.seal(subject, "anna@example.org") };
      await append(store, subject, { type: "UserRegistered", data });
    }
    const others = many.slice(50);
    await dropKeys(...others);
    const other = newVault();
    for (const subject of others) await other.seal(subject, "sealed by a new key");
    const statements: string[] = [];
    const note = ({ sql }: Readonly<{ sql: string }>) => statements.push(sql);
    db.on("query", note);
    const { replaced: found } = await find();
    db.removeListener("query", note);
    expect(found).to.include.members(others);
    // Keys and notes of one page, then all of both.
    expect(statements, statements.join("\n")).to.have.length(4);
  });
});
