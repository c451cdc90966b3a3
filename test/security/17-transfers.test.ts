import { expect } from "chai";

import { handle } from "../../src/commands/core/handle.ts";
import { transferOffer } from "../../src/commands/team/transfer-offer.ts";
import { UserId } from "../../src/events/core/ids.ts";
import { startTestApp, type TestUser } from "../support/app/app.ts";
import { metadataFor } from "../support/app/history.ts";

/**
 * Family 17, role escalation: nothing comes into a name space without its owner's consent, and
 * only the owner of a thing gives it away.
 */
const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const as = ({ token }: { token: string }, body?: unknown) => ({ token, body });

type Item = Readonly<
  Record<"id" | "type" | "title" | "alias" | "ownerAlias" | "offeredBy", string>
>;

let count = 0;
let anna: TestUser;
let bob: TestUser;
let eve: TestUser;
let team: string;

beforeEach(async () => {
  count += 1;
  anna = await app.givenUser(`anna-${count}`);
  bob = await app.givenUser(`bob-${count}`);
  eve = await app.givenUser(`eve-${count}`);
  team = `team-${count}`;
  await app.givenProject(anna, "search");
  await succeeds(app.post("/team", as(anna, { title: team, alias: team })));
});

const succeeds = async (sent: ReturnType<typeof app.post>) => {
  const answer = await sent;
  expect(answer.status, answer.text).to.equal(200);
  return answer;
};
const coded = async (sent: ReturnType<typeof app.post>) => {
  const { status, body } = await sent;
  return body["code"] ?? status;
};

/** Both kinds of things, transferred in the same way. */
const things = {
  PROJECT: {
    at: (owner: TestUser) => `/project/${owner.alias}/search`,
    transfer: (by: TestUser, to: TestUser, owner = anna) =>
      app.post(
        `/project/${owner.alias}/search/transfer`,
        as(by, { ownerAlias: to.alias, ownerAliasType: "USER" }),
      ),
    ownerOf: async () => {
      const row = await app.deps
        .db("project")
        .where({ alias: "search" })
        .orderBy("created_at", "desc");
      return String(row[0]?.["owner_id"]);
    },
  },
  TEAM: {
    at: () => `/team/${team}`,
    transfer: (by: TestUser, to: TestUser) =>
      app.post("/team/transfer", as(by, { teamAlias: team, ownerAlias: to.alias })),
    ownerOf: async () => {
      const row = await app.deps.db("team").where({ alias: team }).first("owner_id");
      return String(row?.["owner_id"]);
    },
  },
} as const;

const offersTo = async (user: TestUser): Promise<readonly Item[]> => {
  const { body } = await app.get("/user/transfer", as(user));
  return (body["_embedded"] as { transferList: Item[] }).transferList;
};
const respond = (user: TestUser, id: string, answer: "accept" | "decline") =>
  app.post(`/user/transfer/${id}/${answer}`, as(user));
const member = (at: string, user: TestUser, role: string) =>
  succeeds(app.post(`${at}/member/invite`, as(anna, { userAlias: user.alias, role })));

for (const [type, { at, transfer, ownerOf }] of Object.entries(things)) {
  describe(`a transfer of a ${type} to another user`, () => {
    it("is an offer, in force when they accept", async () => {
      const { body } = await succeeds(transfer(anna, bob));
      expect(body["pendingTransfer"]).to.include({ ownerAlias: bob.alias, offeredBy: anna.alias });
      expect(await ownerOf()).to.equal(anna.id);
      expect((await app.get(at(anna), as(anna))).body["pendingTransfer"]).to.include({
        ownerAlias: bob.alias,
      });
      const [offer] = await offersTo(bob);
      expect(offer).to.include({ type, ownerAlias: anna.alias, offeredBy: anna.alias });
      expect(await coded(respond(eve, offer?.id ?? "", "accept"))).to.equal("transfer.not_found");
      await succeeds(respond(bob, offer?.id ?? "", "accept"));
      expect(await ownerOf()).to.equal(bob.id);
      expect((await app.get(at(bob), as(bob))).body).not.to.have.property("pendingTransfer");
      expect((await app.get(at(bob), as(anna))).status).to.equal(403);
      expect(await offersTo(bob)).to.deep.equal([]);
      expect(await coded(respond(bob, offer?.id ?? "", "accept"))).to.equal("transfer.not_found");
    });

    it("is declined, and nothing changes", async () => {
      await succeeds(transfer(anna, bob));
      const [offer] = await offersTo(bob);
      expect(await coded(respond(anna, offer?.id ?? "", "decline"))).to.equal("transfer.not_found");
      await succeeds(respond(bob, offer?.id ?? "", "decline"));
      expect(await coded(respond(bob, offer?.id ?? "", "accept"))).to.equal("transfer.not_found");
      expect(await ownerOf()).to.equal(anna.id);
    });

    it("is withdrawn by a transfer to the present owner, and replaced by another offer", async () => {
      await succeeds(transfer(anna, bob));
      const [first] = await offersTo(bob);
      await succeeds(transfer(anna, eve));
      expect(await offersTo(bob)).to.deep.equal([]);
      expect(await coded(respond(bob, first?.id ?? "", "accept"))).to.equal("transfer.not_found");
      const [second] = await offersTo(eve);
      await succeeds(transfer(anna, anna));
      expect(await coded(respond(eve, second?.id ?? "", "accept"))).to.equal("transfer.not_found");
      expect(await ownerOf()).to.equal(anna.id);
    });

    it("is refused to its ADMINs, who do not own it", async () => {
      await member(at(anna), eve, "ADMIN");
      const head = await app.head();
      for (const to of [eve, bob]) {
        expect(await coded(transfer(eve, to))).to.equal("transfer.owner_only");
      }
      expect(await app.head()).to.equal(head);
      expect(await ownerOf()).to.equal(anna.id);
    });

    it("by an administrator of the instance needs no acceptance, and ends offers", async () => {
      await succeeds(transfer(anna, eve));
      const [offer] = await offersTo(eve);
      await succeeds(transfer(root, bob));
      expect(await ownerOf()).to.equal(bob.id);
      expect(await coded(respond(eve, offer?.id ?? "", "accept"))).to.equal("transfer.not_found");
    });

    it("needs an administrator's token that may administer", async () => {
      const scopes = ["PROJECT_EDIT", "TEAM_WRITE"] as const;
      const token = await app.givenToken(root.id, scopes);
      expect((await transfer({ ...root, token }, bob)).status).to.equal(403);
    });

    it("is over after 14 days", async () => {
      await succeeds(transfer(anna, bob));
      const [offer] = await offersTo(bob);
      const row = await app.deps.db("transfer_offer").where({ id: offer?.id }).first();
      const lifeDays = (row["expires_at"] - row["created_at"]) / 86_400_000;
      expect(lifeDays).to.equal(14);
      const command = {
        type: "AcceptTransfer",
        offerId: String(offer?.id),
        userId: UserId.parse(bob.id),
        at: new Date(row["expires_at"].getTime()).toISOString(),
      } as const;
      const order = { id: row["thing_id"], command, metadata: metadataFor("late") };
      await expect(handle(app.platform.store, transferOffer, order))
        .to.be.rejected.and.eventually //
        .include({ code: "transfer.not_found" });
    });
  });
}

describe("an offer whose offerer lost the right", () => {
  it("has lapsed, although the project is still the company's", async () => {
    const alias = `acme-${count}`;
    await succeeds(app.post("/company", as(anna, { title: alias, alias })));
    await member(`/company/${alias}`, eve, "ADMIN");
    const owned = { ownerAlias: alias, ownerAliasType: "COMPANY", title: "E", alias: "engine" };
    await succeeds(app.post("/project", as(anna, owned)));
    const to = { ownerAlias: bob.alias, ownerAliasType: "USER" };
    await succeeds(app.post(`/project/${alias}/engine/transfer`, as(eve, to)));
    const [offer] = await offersTo(bob);
    await succeeds(app.delete(`/company/${alias}/member/${eve.alias}`, as(anna)));
    expect(await coded(respond(bob, offer?.id ?? "", "accept"))).to.equal("transfer.lapsed");
    const body = (await app.get(`/project/${alias}/engine`, as(anna))).body["owner"];
    expect(body).to.deep.equal({ alias, type: "COMPANY" });
  });
});

describe("a company's team", () => {
  it("is not taken by an ADMIN of the team", async () => {
    const alias = `acme-${count}`;
    await succeeds(app.post("/company", as(anna, { title: alias, alias })));
    const owned = { ownerAlias: alias, ownerAliasType: "COMPANY", title: "C", alias: `c-${count}` };
    await succeeds(app.post("/team", as(anna, owned)));
    await member(`/team/c-${count}`, eve, "ADMIN");
    const taken = app.post(
      "/team/transfer",
      as(eve, { teamAlias: `c-${count}`, ownerAlias: eve.alias }),
    );
    expect(await coded(taken)).to.equal("transfer.owner_only");
  });
});

describe("an offered project whose alias the recipient has", () => {
  it("stays offered until there is room for it", async () => {
    await app.givenProject(bob, "search");
    await succeeds(things.PROJECT.transfer(anna, bob));
    const [offer] = await offersTo(bob);
    expect(await coded(respond(bob, offer?.id ?? "", "accept"))).to.equal("alias.taken");
    const own = `/project/${bob.alias}/search/setting/alias`;
    await succeeds(app.put(own, as(bob, { alias: "find" })));
    await succeeds(respond(bob, offer?.id ?? "", "accept"));
    expect((await app.get(`/project/${bob.alias}/search`, as(bob))).status).to.equal(200);
  });
});
