import { expect } from "chai";

import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { browser } from "../../../support/client/browser.ts";

const { app, anna, search, at, begin, patch } = await startAppWithAgent();
const { db } = app.deps;
const page = `/page/project/${anna.alias}/${search.alias}/cicd`;

/** Follows a stream of server-sent events, and keeps what came. */
async function follow(path: string, headers: Record<string, string>) {
  const response = await fetch(app.url + path, { headers });
  expect(response.status).to.equal(200);
  const got = { text: "", end: "" };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      got.text += decoder.decode(chunk, { stream: true });
    }
  };
  void read().then(
    () => {
      got.end = "ended";
    },
    (error: unknown) => {
      got.end = `broken: ${error}`;
    },
  );
  return got;
}

async function loggedIn(): Promise<Record<string, string>> {
  const visitor = browser(app.url);
  await visitor.logIn(anna);
  return { cookie: [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
}

async function endSessions(): Promise<void> {
  await db("session")
    .where({ user_id: anna.id })
    .update({ opened_at: new Date(0) });
  await db("public.session_use").update({ seen_at: new Date(0) });
}

const endOf = (code: string): RegExp =>
  new RegExp(`\\nevent: end\\ndata: \\{"code":"${code}","message":"[^"]+"\\}\\n\\n$`);

describe("a stream whose reader may not follow it any longer", () => {
  let job: number;
  before(async () => {
    await at.commit({ ".forge-ci.yaml": "build: {script: make}" }, "Add [skip ci]");
    const { localId } = await at.start();
    await patch(await begin(), 0, "one\n");
    job = Number((await at.jobs(localId))[0]?.["localId"]);
  });

  it("ends with the reason when the token expires", async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const token = await app.givenToken(anna.id, ["PROJECT_READ"], later);
    const headers = { authorization: `token ${token}` };
    const log = await follow(`${at.base}/cicd/job/${job}/log/stream`, headers);
    await eventually(() => expect(log.text).to.include('data: "one\\n"'));
    await db("access_token")
      .where({ expires_at: later })
      .update({ expires_at: new Date(0) });
    await eventually(() => expect(log.end).to.equal("ended"));
    expect(log.text).to.match(endOf("auth.token_invalid"));
  });

  for (const [what, path] of [
    ["the log of a job", () => `${page}/job/${job}/live`],
    ["a pipeline", () => `${page}/pipeline/1/live`],
  ] as const) {
    it(`ends with the reason on the page of ${what} when the session does`, async () => {
      const live = await follow(path(), await loggedIn());
      await eventually(() => expect(live.text).to.include("\ndata: "));
      await db("session")
        .where({ user_id: anna.id })
        .update({ opened_at: new Date(0) });
      await db("public.session_use").update({ seen_at: new Date(0) });
      await eventually(() => expect(live.end).to.equal("ended"));
      expect(live.text).to.match(endOf("auth.session_over"));
    });
  }

  it("does not keep a session in use that idles", async () => {
    const live = await follow(`${page}/pipeline/1/live`, await loggedIn());
    await eventually(() => expect(live.text).to.include("\ndata: "));
    const before = { seen_at: new Date(Date.now() - 60_000) };
    await db("public.session_use").update(before);
    let looked = 0;
    const note = ({ sql }: Readonly<{ sql: string }>): void => {
      if (sql.includes("secret_hash")) looked += 1;
    };
    db.on("query", note);
    // The use of a session is noted every five seconds at most, and a stream looks for it once a second.
    await eventually(() => expect(looked).to.be.at.least(8));
    db.removeListener("query", note);
    for (const row of await db("public.session_use")) expect(row).to.deep.include(before);
    await endSessions();
    await eventually(() => expect(live.end).to.equal("ended"));
  });
});
