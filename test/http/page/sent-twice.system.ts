import { expect } from "chai";

import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { forge, givenFullSite, pagesOf } from "../../support/app/full-site.ts";
import { loggedIn, type Visitor } from "../../support/app/site-world.ts";
import { type Form, formsIn, type Shown } from "../../support/client/browser.ts";

/** Every form of every page that changes something has one outcome when a double click sends it twice. */
const app = await startTestApp({ workers: true });
let anna: TestUser;
let insider: Visitor;
const forms = new Map<string, Form>();

/** A session that ended has no forms, and its end is sent once. */
const isOfSession = ({ action }: Form): boolean => action === "/logout";
/** What these fields take is not plain text. */
const known: Readonly<Record<string, string>> = {
  sourceBranch: "twice",
  targetBranch: "main",
  cron: "0 4 2 2 *",
  publicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdmWtOoRVLpp5V4cd8QhrRFlEDcMXaSUTwIrKZOSL7J a",
};

before(async function () {
  this.timeout(240_000);
  anna = await app.givenUser("anna", { admin: true });
  await app.givenUser("bob");
  const site = await givenFullSite(app, anna);
  await loggedIn(app, anna);
  insider = await loggedIn(app, anna);
  const more = [
    `/console/two-factor`,
    `/page${forge}/issue/2/edit`,
    `/page${forge}/merge-request/1/edit`,
  ];
  for (const path of [...pagesOf(site), ...more]) {
    const { text } = await insider.see(path);
    for (const form of formsIn(text)) forms.set(form.action.replace(/[\da-f-]{36}/g, "id"), form);
  }
});

const filled = ({ fields }: Form): Record<string, string> =>
  Object.fromEntries(
    fields.map(({ name, value, type }) => {
      if (type === "password") return [name, anna.password];
      if (type === "date") return [name, "2099-01-01"];
      return [name, value || (known[name] ?? "twice")];
    }),
  );

/**
 * What a person's requests appended, which may hold nothing twice; the service itself follows up in its
 * own name. What begins a thing stands without its stream: a second thing has a stream of its own.
 */
const eventsSince = async (position: bigint): Promise<readonly string[]> => {
  const rows: string[] = [];
  for await (const { type, stream, metadata } of app.deps.store.readAll({ after: position })) {
    // A pipeline numbers each of its jobs.
    if (metadata.actor.via !== "session" || type === "LocalIdAssigned") continue;
    rows.push(
      /(?:Created|Opened|Added|Scheduled|Prepared|Begun)$/.test(type) ? type : `${type} ${stream}`,
    );
  }
  return rows;
};

describe("forms of pages", () => {
  it("carry a key, all of them", () => {
    const without = [...forms.values()].filter(
      (form) => !isOfSession(form) && !form.fields.some(({ name }) => name === "once"),
    );
    expect(without.map(({ action }) => action)).to.deep.equal([]);
    expect(forms.size).to.be.greaterThan(20);
  });

  it("have one outcome when they are sent twice at once", async () => {
    let done = 0;
    for (const form of forms.values()) {
      if (isOfSession(form)) continue;
      const before = (await app.head()) ?? 0n;
      const fields = filled(form);
      const both = await Promise.all([1, 2].map(() => insider.post(form.action, fields)));
      const [first, second] = both.map(outcome);
      expect(second, form.action).to.deep.equal(first);
      const events = await eventsSince(before);
      expect(new Set(events).size, `${form.action}: ${events.join(", ")}`).to.equal(events.length);
      if (events.length > 0) done += 1;
    }
    expect(done).to.be.greaterThan(10);
  }).timeout(240_000);
});

const outcome = ({ status, location, text }: Shown) => ({
  status,
  location,
  secret: /<code class="secret">([^<]+)</.exec(text)?.[1],
});
