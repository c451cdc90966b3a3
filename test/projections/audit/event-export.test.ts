import { expect } from "chai";
import { openVault } from "../../../src/platform/key/vault.ts";
import { exportEvents } from "../../../src/projections/audit/event-export.ts";
import { metadataFor } from "../../support/app/history.ts";
import { append } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const secretKey = "a secret key of more than enough characters";
const subject = "user-0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d";

async function exported(): Promise<{ data: unknown; metadata: { ip: unknown } }[]> {
  const lines = [];
  for await (const line of exportEvents(store, openVault(db, secretKey).open)) {
    lines.push(JSON.parse(line));
  }
  return lines;
}

describe("exporting the log", () => {
  const vault = openVault(db, secretKey);

  before(async () => {
    const id = "10000000-0000-4000-8000-000000000000";
    const data = {
      email: await vault.seal(subject, "anna@example.org"),
      passwordHash: await vault.seal(subject, "scrypt$…"),
      admin: true,
    };
    const metadata = metadataFor(id, { ip: await vault.seal(subject, "192.0.2.7") });
    await store.append(subject, "none", [{ type: "UserRegistered", data, id, metadata }]);
    await append(store, "webhook-1", {
      type: "WebhookCreated",
      data: { secret: "plain", nested: [{ key: await vault.seal("project-1", "k") }] },
    });
  });

  it("opens personal data, and leaves every secret out", async () => {
    const [registered, webhook] = await exported();
    expect(registered?.data).to.deep.equal({
      email: "anna@example.org",
      passwordHash: null,
      admin: true,
    });
    expect(registered?.metadata.ip).to.equal("192.0.2.7");
    expect(webhook?.data).to.deep.equal({ secret: null, nested: [{ key: null }] });
  });

  it("has no personal data of a forgotten user", async () => {
    await vault.forget(subject);
    const [registered] = await exported();
    expect(registered?.data).to.deep.equal({ email: null, passwordHash: null, admin: true });
    expect(registered?.metadata.ip).to.equal(null);
  });
});
