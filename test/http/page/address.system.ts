import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "chai";

import { routes } from "../../../src/http/routes.ts";
import { givenAgent } from "../../support/agent/agent.ts";
import { agentTalk } from "../../support/agent/agent-job.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { forge, givenFullSite } from "../../support/app/full-site.ts";
import { startMailbox } from "../../support/app/mailbox.ts";
import { loggedIn, visitor } from "../../support/app/site-world.ts";
import { pathOf } from "../../support/app/world.ts";
import { startReceiver } from "../../support/client/receiver.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const mailbox = await startMailbox();
const app = await startTestApp({ workers: true, smtpUrl: mailbox.url });

let anna: TestUser;
let bob: TestUser;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
const found = new Map<string, string>();

/** Notes each address of the service in a text. */
function note(from: string, text: string): void {
  const plain = text.replaceAll("\\/", "/");
  for (const [address] of plain.matchAll(new RegExp(`${app.url}[^\\s"'<>\\\\),]*`, "g"))) {
    if (!found.has(address)) found.set(address, from);
  }
}

/** Addresses that only programs request, and why. */
const ofPrograms: readonly (readonly [RegExp, string])[] = [
  [/\/api\/v4(?:\/|$)/, "the protocol of agents"],
  [/\/oauth\/(?:token|revoke)$/, "what OAuth applications post to"],
  [/\/oauth\/authorize$/, "opened with the parameters of an application"],
  [/\/info\/lfs/, "the protocol of Git LFS"],
  [/\/v2\//, "the protocol of image registries"],
  [/\/registry\/.*\/repository\//, "the protocol of package clients"],
];

/** What has to be among them. */
const sent = [
  ...[/\/issue\/3$/, /\/merge-request\/1$/, /\/cicd\/pipeline\/\d+$/, /\/cicd\/job\/\d+$/],
  ...[/\/account\/reset-password\?/, /\/account\/unsubscribe\?/, /^\/user\/transfer$/, /\/fork$/],
  ...[/^\/page\/project\/anna\/forge\/merge-request\/new\?sourceBranch=pushed/],
  ...[/^\/project\/anna\/forge$/, /^\/project\/anna\/forge\.git$/, /^\/rest-api$/],
];

before(async function () {
  this.timeout(180_000);
  receiver = await startReceiver();
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  const site = await givenFullSite(app, anna, receiver.url);
  await mailsBegin();
  await variables();
  await push();
  await answers(site.commit);
  await eventually(() => mailbox.to("bob@example.org").length >= 3, 60_000);
  await eventually(() => receiver.received.length >= 5, 60_000);
  for (const { text = "", subject } of mailbox.mails) note(`mail "${subject}"`, text);
  for (const { body } of receiver.received) note("webhook", body);
});

const post = async (at: string, body: unknown) => {
  const answer = await app.post(at, { token: anna.token, body });
  expect(answer.status, `${at} ${answer.text}`).to.be.oneOf([200, 201, 204]);
  return answer.body;
};

/** What mails are about: assigned, mentioned, invited, offered, a new address. */
async function mailsBegin(): Promise<void> {
  await post(`${forge}/member/invite`, { userAlias: "bob", role: "DEVELOPER" });
  const issue = { title: "For bob", description: "@bob", assignedUsers: [{ id: bob.id }] };
  await post(`${forge}/issue`, issue);
  const at = `${forge}/merge-request/1/discussions/create`;
  await post(at, { message: "What do you think, @bob?" });
  await app.givenProject(anna, "gift");
  const offer = { ownerAlias: "bob", ownerAliasType: "USER" };
  await post("/project/anna/gift/transfer", offer);
  const email = { token: anna.token, body: { email: "new@example.org" } };
  expect((await app.put("/user/change-email", email)).status).to.equal(200);
  const reset = await app.post("/user/password-reset", { body: { email: "bob@example.org" } });
  expect(reset.status, reset.text).to.equal(200);
}

/** Of a job, as its agent gets them. */
async function variables(): Promise<void> {
  const agent = await givenAgent(app, { base: `${forge}/runners`, token: anna.token });
  const job = await eventually(() => agentTalk(app, agent.token).take(), 60_000);
  note("job", JSON.stringify(job));
}

/** What git prints of a push. */
async function push(): Promise<void> {
  const copy = await workingCopy(await temporaryDirectory(), "copy");
  await git(copy, "fetch", "--quiet", `${app.url}${forge}.git`, "main");
  await git(copy, "checkout", "--quiet", "-b", "pushed/1", "FETCH_HEAD");
  await commit(copy, "Pushed", { "pushed.txt": "pushed\n" });
  const remote = `${app.url.replace("//", `//anna:${anna.token}@`)}${forge}.git`;
  const run = promisify(execFile);
  const { stderr } = await run("git", ["-C", copy, "push", remote, "HEAD:refs/heads/pushed/1"]);
  note("push", stderr);
}

/** What the REST interface answers about the project. */
async function answers(commitHash: string): Promise<void> {
  const values = { ownerAlias: "anna", projectAlias: "forge", localId: "1", hash: commitHash };
  for (const route of routes.filter(
    ({ method, reply }) => method === "get" && reply !== "stream",
  )) {
    if (!route.path.startsWith("/project/{ownerAlias}")) continue;
    const answer = await app.get(pathOf(route, values), { token: anna.token });
    note(route.operationId, answer.text);
  }
  note("OAuth", (await app.get("/.well-known/oauth-authorization-server")).text);
}

describe("addresses that the service sends", () => {
  it("open pages in a browser", async () => {
    const [insider, recipient, stranger] = [
      await loggedIn(app, anna),
      await loggedIn(app, bob),
      visitor(app),
    ];
    const wrong: string[] = [];
    for (const [address, from] of found) {
      if (ofPrograms.some(([form]) => form.test(address))) continue;
      const at = address.slice(app.url.length) || "/";
      const who = from.startsWith("mail") ? recipient : insider;
      const shown = await who.see(at);
      const isPage = /^text\/html/.test(shown.headers.get("content-type") ?? "");
      const isDownload = shown.headers.has("content-disposition");
      const isFine = shown.status === 303 || (shown.status === 200 && (isPage || isDownload));
      if (!isFine) wrong.push(`${shown.status} ${at} of ${from}`);
      const { status } = await stranger.see(at);
      if (![200, 303, 404, 422].includes(status)) wrong.push(`${status} ${at} for a stranger`);
    }
    expect(wrong).to.deep.equal([]);
    const all = [...found.keys()].map((address) => address.slice(app.url.length));
    for (const form of sent)
      expect(
        all.some((one) => form.test(one)),
        `${form}`,
      ).to.equal(true);
  }).timeout(60_000);

  it("lead to forms that accept what is offered, and fork a project", async () => {
    const recipient = await loggedIn(app, bob);
    const page = await recipient.see("/user/transfer");
    expect(page.text).to.contain("project anna/gift");
    const [, accept = ""] = /action="([^"]+\/accept)"/.exec(page.text) ?? [];
    const accepted = await recipient.submit(page, accept);
    expect([accepted.status, accepted.location]).to.deep.equal([303, "/user/transfer"]);
    expect((await recipient.see("/user/transfer")).text).to.contain("Nothing is offered to you.");
    expect((await recipient.see("/project/bob/gift")).status).to.equal(200);
    const at = (await recipient.see(`${forge}/fork`)).location;
    const form = await recipient.see(at);
    const fields = { ownerAlias: "bob", ownerAliasType: "USER", title: "Mine" };
    const taken = await recipient.submit(form, at, { ...fields, alias: "gift" });
    expect(taken.status).to.equal(422);
    const { status, location } = await recipient.submit(form, at, { ...fields, alias: "mine" });
    expect([status, location]).to.deep.equal([303, "/project/bob/mine"]);
    // The answer does not wait for a copy that takes long.
    await eventually(
      async () => (await recipient.see(location)).text.includes("README.md"),
      120_000,
    );
  }).timeout(180_000);
});
