import { expect } from "chai";

import { linkToken } from "../../src/commands/user/link-token.ts";
import { startTestApp, type TestUser } from "../support/app/app.ts";
import { eventually } from "../support/app/eventually.ts";

/**
 * Family 17, role escalation: an invitation gives no more than its inviter may give when it is
 * accepted, and never lowers a role.
 */
const app = await startTestApp({ workers: true });
const root = await app.givenUser("root", { admin: true });
const as = ({ token }: { token: string }, body?: unknown) => ({ token, body });

let count = 0;
let anna: TestUser;
let bob: TestUser;
let guest: TestUser;
let base: string;
let email: string;

beforeEach(async () => {
  count += 1;
  anna = await app.givenUser(`anna-${count}`);
  bob = await app.givenUser(`bob-${count}`);
  guest = await app.givenUser(`guest-${count}`);
  email = `invited-${count}@example.org`;
  await app.givenProject(anna, "hidden");
  base = `/project/${anna.alias}/hidden`;
});

type Row = Readonly<{ id: string; place_id: string }>;
const rows = () =>
  app.deps.db("invitation").where({ invited_by_id: bob.id }).select<Row[]>("id", "place_id");

/** Bob, an ADMIN of the project, invites the address; gives the token of the link. */
async function invitation(role = "ADMIN", at = base): Promise<string> {
  const member = as(anna, { userAlias: bob.alias, role: "ADMIN" });
  await app.post(`${at}/member/invite`, member);
  const sent = await app.post(`${at}/member/invite`, as(bob, { email, role }));
  expect(sent.status, sent.text).to.equal(200);
  const [row] = await rows();
  return linkToken(app.platform.vault, "INVITATION", row?.place_id ?? "", row?.id ?? "");
}

const accept = async (token: string, by = guest) => {
  const answer = await app.post("/user/invitation/accept", as(by, { token }));
  return answer.body["code"] ?? answer.status;
};
const roleOf = async (user: TestUser, at = base) => {
  const { body } = await app.get(`${at}/member?q=${user.alias}`, as(anna));
  return (body["_embedded"] as { userList: { role: string }[] }).userList[0]?.role;
};
const succeeds = async (answer: Promise<{ status: number; text: string }>) => {
  const { status, text } = await answer;
  expect(status, text).to.equal(200);
};

/** How the inviter loses the right, and how it would come back. */
const losses: Readonly<Record<string, Readonly<{ lose: () => unknown; regain: () => unknown }>>> = {
  "was removed": {
    lose: () => succeeds(app.delete(`${base}/member/${bob.alias}`, as(anna))),
    regain: () =>
      succeeds(
        app.post(`${base}/member/invite`, as(anna, { userAlias: bob.alias, role: "ADMIN" })),
      ),
  },
  "was demoted": {
    lose: () => role("DEVELOPER"),
    regain: () => role("ADMIN"),
  },
  "was blocked": {
    lose: () => succeeds(app.post(`/admin/user/${bob.id}/account/ban`, as(root, { reason: "" }))),
    regain: () => succeeds(app.post(`/admin/user/${bob.id}/account/unban`, as(root))),
  },
  "saw the project deleted": {
    lose: async () => succeeds(app.delete(`/project/${await projectId()}/delete`, as(anna))),
    regain: async () => succeeds(app.post(`/project/${await projectId()}/restore`, as(anna))),
  },
};

const role = (to: string) =>
  succeeds(app.put(`${base}/member/role`, as(anna, { userAlias: bob.alias, role: to })));
const projectId = async () => {
  const row = await app.deps.db("project").where({ owner_id: anna.id }).first("id");
  return String(row?.["id"]);
};

describe("an invitation whose inviter", () => {
  for (const [what, { lose, regain }] of Object.entries(losses)) {
    it(`${what} has lapsed, for accounts and registrations, and stays so`, async () => {
      const token = await invitation();
      await lose();
      expect(await accept(token)).to.equal("link.invalid");
      const body = { alias: `new-${count}`, email, password: "a long password", invitation: token };
      const registered = await app.post("/user/register", { body });
      expect([registered.status, registered.body["code"]]).to.deep.equal([422, "link.invalid"]);
      await eventually(async () => (await rows()).length === 0);
      await regain();
      expect(await accept(token)).to.equal("link.invalid");
      expect(await roleOf(guest)).to.equal(undefined);
    });
  }

  it("gave the project to another user has lapsed", async () => {
    await succeeds(app.post(`${base}/member/invite`, as(anna, { email, role: "ADMIN" })));
    const [row] = await app.deps
      .db("invitation")
      .where({ invited_by_id: anna.id })
      .select<Row[]>("id", "place_id");
    const token = linkToken(app.platform.vault, "INVITATION", row?.place_id ?? "", row?.id ?? "");
    const offer = await app.post(
      `${base}/transfer`,
      as(anna, { ownerAlias: bob.alias, ownerAliasType: "USER" }),
    );
    expect(offer.status, offer.text).to.equal(200);
    const { id } = offer.body["pendingTransfer"] as { id: string };
    await succeeds(app.post(`/user/transfer/${id}/accept`, as(bob)));
    expect(await accept(token)).to.equal("link.invalid");
  });

  it("lost the right through the company above it has lapsed", async () => {
    const alias = `acme-${count}`;
    await succeeds(app.post("/company", as(anna, { title: alias, alias, isPrivate: true })));
    const owner = { ownerAlias: alias, ownerAliasType: "COMPANY" };
    const team = { title: "T", alias: `team-${count}`, ...owner };
    await succeeds(app.post("/team", as(anna, team)));
    const member = { userAlias: bob.alias, role: "ADMIN" };
    await succeeds(app.post(`/company/${alias}/member/invite`, as(anna, member)));
    await succeeds(
      app.post(`/team/team-${count}/member/invite`, as(bob, { email, role: "ADMIN" })),
    );
    const [row] = await rows();
    const token = linkToken(app.platform.vault, "INVITATION", row?.place_id ?? "", row?.id ?? "");
    await succeeds(app.delete(`/company/${alias}/member/${bob.alias}`, as(anna)));
    expect(await accept(token)).to.equal("link.invalid");
    await eventually(async () => (await rows()).length === 0);
  });
});

describe("an invitation that a member accepts", () => {
  for (const [held, offered, left] of [
    ["GUEST", "DEVELOPER", "DEVELOPER"],
    ["DEVELOPER", "GUEST", "DEVELOPER"],
    ["REPORTER", "REPORTER", "REPORTER"],
  ] as const) {
    it(`gives the higher of the roles, ${left} of ${held} and ${offered}`, async () => {
      const token = await invitation(offered);
      await succeeds(
        app.post(`${base}/member/invite`, as(anna, { userAlias: guest.alias, role: held })),
      );
      expect(await accept(token)).to.equal(200);
      expect(await roleOf(guest)).to.equal(left);
      expect(await accept(token), "it works once").to.equal("link.invalid");
    });
  }
});
