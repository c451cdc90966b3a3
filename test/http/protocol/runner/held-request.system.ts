import { expect } from "chai";
import { jobStream } from "../../../../src/events/pipeline/job.ts";
import {
  endHeldPolls,
  heldPerAgentMax,
  waitingFor,
} from "../../../../src/http/protocol/runner/queue.ts";
import { withLock } from "../../../../src/platform/postgres/leader.ts";
import { lockFeed } from "../../../../src/projections/core/checkpoint.ts";
import { rebuildLock } from "../../../../src/projections/core/rebuild.ts";
import { givenAgent } from "../../../support/agent/agent.ts";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import { agentTalk, countHeldPolls, type TakenJob } from "../../../support/agent/agent-job.ts";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { eventually } from "../../../support/app/eventually.ts";

const { app, anna, token, at, runners } = await startAppWithAgent({
  agent: { tag_list: "none", run_untagged: false },
});
const { store } = app.deps;

async function started(yaml: string) {
  await at.commit({ ".forge-ci.yaml": yaml }, "Change [skip ci]");
  const { localId } = await at.start();
  const [{ id } = { id: undefined }] = await app.deps
    .db("pipeline_job")
    .whereIn("pipeline_id", app.deps.db("pipeline").where({ local_id: localId }).select("id"))
    .select("id");
  return { localId, stream: jobStream(id) };
}

const cancel = (localId: unknown) =>
  app.post(`${at.base}/cicd/pipeline/${localId}/cancel`, { token });

/** An agent whose request for a job is held. @param of its owner */
async function waitingAgent(about: Readonly<Record<string, unknown>>, of = runners) {
  const agent = await givenAgent(app, of, about);
  const counted = countHeldPolls(app.deps);
  const held = agentTalk(app, agent.token).poll();
  await eventually(() => counted.count() > 0);
  counted.end();
  const edit = async (body: Readonly<Record<string, unknown>>) => {
    const answer = await app.post(`${of.base}/${agent.id}/edit`, { token, body });
    expect(answer.status, answer.text).to.equal(200);
  };
  return { held, edit, path: `${of.base}/${agent.id}` };
}

/** As if another release had built the read model: it is built again. */
async function outdate(name: string): Promise<void> {
  await app.deps.db.transaction(async (tx) => {
    const position = String(await lockFeed(tx));
    await tx("projection_checkpoint")
      .where({ name })
      .update({ version: 0, state: "behind", position });
  });
}

/** The answer to a held request; 0 where it is held until this process ends its requests. */
async function soon(held: Promise<{ status: number }>): Promise<number> {
  const ends = setTimeout(() => endHeldPolls(app.deps.onChange), 20_000);
  const { status } = await held;
  clearTimeout(ends);
  return status;
}

describe("the held request of an agent", () => {
  for (const [what, job, about, change] of [
    [
      "has the tags of a job that waits",
      "tags: [arm]",
      { tag_list: "x", run_untagged: false },
      { tags: ["arm"] },
    ],
    ["takes jobs without tags", "", { tag_list: "x", run_untagged: false }, { runUntagged: true }],
    [
      "is no longer for protected refs alone",
      "tags: [p]",
      { tag_list: "p", access_level: "ref_protected" },
      { isProtected: false },
    ],
  ] as const) {
    it(`is answered at once when a change ${what}`, async () => {
      const { localId } = await started(`# ${what}\na: {script: x, ${job}}`);
      const { held, edit } = await waitingAgent(about);
      await edit(change);
      expect(await soon(held)).to.equal(201);
      await cancel(localId);
    });
  }

  describe("of a company", () => {
    const own = (alias: string) => ({ title: alias, alias, isPrivate: false });
    const call = async (path: string, body: object) => {
      const answer = await app.post(path, { token, body });
      expect(answer.status, answer.text).to.equal(200);
    };
    /** A project with a job that waits. @returns what gives it to another owner */
    async function given(project: string) {
      const ci = pipelinesOf(app, anna, await app.givenProject(anna, project));
      await ci.commit({ ".forge-ci.yaml": "a: {script: x}" }, "Add [skip ci]");
      await ci.start();
      return (ownerAlias: string, ownerAliasType: string) =>
        call(`${ci.base}/transfer`, { ownerAlias, ownerAliasType });
    }
    async function agentOf(company: string) {
      await call("/company", own(company));
      return waitingAgent({ tag_list: "x" }, { base: `/company/${company}/runners`, token });
    }

    it("is answered at once when a project with a job comes to the company", async () => {
      const transfer = await given("moving");
      const { held } = await agentOf("acme");
      await transfer("acme", "COMPANY");
      expect(await soon(held)).to.equal(201);
    });

    it("is answered at once when a team with such a project does", async () => {
      const transfer = await given("teamwork");
      await call("/team", own("tools"));
      await transfer("tools", "TEAM");
      const { held } = await agentOf("umbrella");
      await call("/team/transfer", { teamAlias: "tools", ownerAlias: "umbrella" });
      expect(await soon(held)).to.equal(201);
    });
  });

  describe("for protected refs alone", () => {
    const send = async (method: "POST" | "DELETE", path: string, body?: object) => {
      const answer = await app.send(method, path, { token, body });
      expect(answer.status, answer.text).to.equal(method === "POST" ? 200 : 204);
      return answer.body;
    };
    const given = async (project: string) => {
      const of = pipelinesOf(app, anna, await app.givenProject(anna, project));
      await of.commit({ ".forge-ci.yaml": "a: {script: x}" }, "Add [skip ci]");
      return of;
    };
    const protect = (base: string) => {
      const levels = { allowedToPush: "DEVELOPER", allowedToMerge: "DEVELOPER" };
      return send("POST", `${base}/branch-protection/create`, {
        branchTemplate: "main",
        ...levels,
      });
    };
    const protectedAgent = (base: string) =>
      waitingAgent({ access_level: "ref_protected" }, { base: `${base}/runners`, token });

    it("is answered at once when a rule protects the ref of a job that waits", async () => {
      const { base, start } = await given("guarded");
      await start();
      const { held } = await protectedAgent(base);
      await protect(base);
      expect(await soon(held)).to.equal(201);
    });

    it("is answered at once when the project of such a job becomes a mirror", async () => {
      const { base, start } = await given("mirrored");
      await start();
      const { held } = await protectedAgent(base);
      const url = "https://forge.example.test/anna/mirrored.git";
      await send("POST", `${base}/mirror`, { url, type: "PULL", overwrite: true });
      expect(await soon(held)).to.equal(201);
    });

    it("is not answered with a job whose ref a rule protects no longer", async () => {
      const { base, start } = await given("freed");
      const rule = await protect(base);
      const { held, edit } = await protectedAgent(base);
      await send("DELETE", `${base}/branch-protection/${rule["uuid"]}`);
      await start();
      const open = agentTalk(
        app,
        (await givenAgent(app, { base: `${base}/runners`, token })).token,
      );
      expect((await open.poll()).status).to.equal(201);
      await edit({ isActive: "false" });
      expect((await held).status).to.equal(204);
    });
  });

  it("is answered with a job that can be confirmed, once the read model of jobs is built again", async () => {
    const { localId } = await started("# built\na: {script: x, tags: [built]}");
    const { token: own } = await givenAgent(app, runners, { tag_list: "built" });
    const { poll, put } = agentTalk(app, own);
    const counted = countHeldPolls(app.deps);
    const { signal } = new AbortController();
    // Until the lock is free, nothing is built.
    const built = await withLock(app.databaseUrl, rebuildLock, signal, async () => {
      await outdate("pipeline");
      const held = poll();
      await Promise.race([held, eventually(() => counted.count() > 0)]);
      return { held };
    });
    counted.end();
    const held = built?.result.held ?? expect.fail("another rebuild runs");
    expect(await soon(held)).to.equal(201);
    const answer = await put((await held).body as TakenJob, { state: "running" });
    expect(answer.status, answer.text).to.equal(200);
    await cancel(localId);
  });

  it("ends when the agent is paused or removed", async () => {
    const paused = await waitingAgent({ tag_list: "none", run_untagged: false });
    await app.post(`${paused.path}/shutdown`, { token });
    expect(await soon(paused.held)).to.equal(204);
    const removed = await waitingAgent({ tag_list: "none", run_untagged: false });
    await app.delete(removed.path, { token });
    expect(await soon(removed.held)).to.equal(403);
  });

  it("is answered with a job that another agent could not claim, because the store failed", async () => {
    const agents = [await givenAgent(app, runners), await givenAgent(app, runners)] as const;
    const [failing, other] = agents.map(({ token: own }) => agentTalk(app, own));
    const { localId, stream } = await started("# of a store that fails\na: {script: x}");
    const append = store.append.bind(store);
    const counted = countHeldPolls(app.deps);
    let held: Promise<{ status: number }> | undefined;
    const hooked: Partial<typeof store> = {
      append: async (to, ...more) => {
        if (to !== stream || held !== undefined) return append(to, ...more);
        held = other!.poll();
        await eventually(() => counted.count() > 0);
        throw new Error("The store is not there.");
      },
    };
    Object.assign(store, hooked);
    try {
      expect((await failing!.poll()).status).to.equal(500);
      expect(await soon(held!)).to.equal(201);
    } finally {
      Object.assign(store, { append });
      counted.end();
    }
    await cancel(localId);
  });
});

describe("held requests of one token with invented features", () => {
  it("are bounded, look for jobs as one kind, and delay no job of another agent", async () => {
    const flooder = await givenAgent(app, runners, { tag_list: "flood" });
    const waiting = waitingFor(app.deps.onChange);
    const { noteNothing } = waiting;
    const kinds = new Set<string>();
    Object.assign(waiting, {
      noteNothing: (...args: Parameters<typeof noteNothing>) => {
        kinds.add(args[0]);
        noteNothing(...args);
      },
    });
    const leaving = new AbortController();
    const statuses: number[] = [];
    const flood = Array.from({ length: heldPerAgentMax + 8 }, async (_, n) => {
      const body = JSON.stringify({
        token: flooder.token,
        info: { features: { [`x${n}`]: true } },
      });
      const headers = { "content-type": "application/json" };
      const url = `${app.url}/api/v4/jobs/request`;
      const { signal } = leaving;
      const answer = await fetch(url, { method: "POST", headers, body, signal }).catch(
        () => undefined,
      );
      if (answer !== undefined) statuses.push(answer.status);
    });
    try {
      await eventually(() => statuses.length === 8);
      expect(new Set(statuses)).to.deep.equal(new Set([204]));
      expect(kinds.size).to.equal(1);
      const { localId } = await started("# flood\na: {script: x, tags: [quiet]}");
      const quiet = await givenAgent(app, runners, { tag_list: "quiet" });
      const begun = performance.now();
      expect(await soon(agentTalk(app, quiet.token).poll())).to.equal(201);
      expect(performance.now() - begun).to.be.below(2_000);
      await cancel(localId);
    } finally {
      Object.assign(waiting, { noteNothing });
      leaving.abort();
      await Promise.all(flood);
    }
  });

  it("take no connections to the database from others while their contact is written", async () => {
    const flooder = await givenAgent(app, runners, { tag_list: "flood" });
    const leaving = new AbortController();
    const { signal } = leaving;
    const poll = async (feature: string): Promise<void> => {
      const body = JSON.stringify({
        token: flooder.token,
        info: { features: { [feature]: true } },
      });
      const headers = { "content-type": "application/json" };
      const url = `${app.url}/api/v4/jobs/request`;
      await fetch(url, { method: "POST", headers, body, signal }).catch(() => undefined);
    };
    const contact = { agent_id: flooder.id };
    const flood = [poll("first")];
    await eventually(async () => await app.deps.db("agent_contact").where(contact).first());
    const holding = await app.deps.db.transaction();
    try {
      await holding("agent_contact").where(contact).forUpdate();
      flood.push(...Array.from({ length: 20 }, (_, n) => poll(`x${n}`)));
      const blocked = holding("pg_stat_activity").where({ wait_event_type: "Lock" });
      await eventually(async () => (await blocked.clone()).length > 0);
      let shown = 0;
      const show = async (): Promise<void> => {
        for (; shown < 5; shown += 1) await app.get(at.base, { token });
      };
      const showing = show();
      await eventually(() => shown === 5, 10_000);
      await showing;
    } finally {
      await holding.rollback();
      leaving.abort();
      await Promise.all(flood);
    }
  });
});
