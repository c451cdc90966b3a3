import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { protectionStream } from "../../../src/events/protection/protection.ts";
import { startTestApp } from "../../support/app/app.ts";
import { at, metadataFor } from "../../support/app/history.ts";

const app = await startTestApp();

const ruleOf = (parentId: string, createdById: string, n: number) => {
  const id = randomUUID();
  const rule = { kind: "TAG", template: `v${n}`, allowToCreate: "NO_ONE" };
  const made = { createdById, createdAt: at };
  return {
    ...{ id, type: "ProtectionRuleCreated", metadata: metadataFor(id) },
    data: { ruleId: randomUUID(), parentId, parentType: "PROJECT", rule, ...made },
  };
};

describe("a list of the past", () => {
  it("has at most 1,000 entries", async () => {
    const anna = await app.givenUser("anna");
    const { id: project } = await app.givenProject(anna, "search");
    const rules = Array.from({ length: 1_001 }, (_, n) => ruleOf(project, anna.id, n));
    const stream = protectionStream(project);
    const full = await app.deps.store.append(stream, "none", rules.slice(0, 1_000));
    const beyond = await app.deps.store.append(stream, full.revision, rules.slice(1_000));
    await app.deps.visible(beyond.position);
    const list = (position: bigint) =>
      app.get(`/project/anna/search/tag-protection?asOf=${position}`, { token: anna.token });
    const allowed = await list(full.position);
    expect(allowed.status, allowed.text).to.equal(200);
    expect(allowed.body["page"]).to.include({ totalElements: 1_000 });
    const refused = await list(beyond.position);
    expect(refused.status).to.equal(422);
    expect(refused.body["errors"]).to.have.nested.property("[0].code", "as_of.too_many");
  });

  it("is read from at most 64 MiB of events", async () => {
    const boris = await app.givenUser("boris");
    const { id: project } = await app.givenProject(boris, "large");
    const stream = protectionStream(project);
    const pad = "x".repeat(1_000_000);
    const list = (position: bigint) =>
      app.get(`/project/boris/large/tag-protection?asOf=${position}`, { token: boris.token });
    const positions: bigint[] = [];
    for (let n = 0, revision: bigint | "none" = "none"; n < 68; n += 1) {
      const { data, ...rest } = ruleOf(project, boris.id, n);
      const event = { ...rest, data: { ...data, pad } };
      const appended = await app.deps.store.append(stream, revision, [event]);
      revision = appended.revision;
      positions.push(appended.position);
    }
    await app.deps.visible(positions.at(-1));
    expect((await list(positions[59]!)).status).to.equal(200);
    const refused = await list(positions[67]!);
    expect(refused.status, refused.text.slice(0, 200)).to.equal(422);
    expect(refused.body["errors"]).to.have.nested.property("[0].code", "as_of.too_many");
  });
});
