import { expect } from "chai";

import { mergeRequestStream } from "../../../src/events/merge-request/merge-request.ts";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import {
  mergeRequestPushed,
  mergeRequestPushedEndWorker,
  mergeRequestPushedWorker,
} from "../../../src/workers/merge-request/merged-by-push.ts";
import { startTestApp, type TestUser } from "../app/app.ts";
import { git } from "../git/git.ts";
import { idOf, type Json, type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

/** Requests whose target is pushed to by hand. */
export async function givenPushed() {
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob } = people;
  const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
  let world: MergeWorld;
  beforeEach(async () => {
    world = await newWorld();
  });

  /** Reacts to every event of a stream, however often it did before. */
  async function reactTo(stream: string): Promise<void> {
    const { signal } = new AbortController();
    const workers = [mergeRequestPushedWorker, mergeRequestPushedEndWorker];
    for await (const event of app.platform.store.readStream(stream)) {
      if (!mergeRequestPushed.types.has(event.type)) continue;
      for (const { queue, data } of await mergeRequestPushed.react(event, deps)) {
        await workers.find((worker) => worker.queue === queue)?.runJob(data, deps, signal);
      }
    }
  }

  const requestIds = (): Promise<string[]> =>
    app.deps.db("merge_request").where("project_id", world.project.id).pluck("id");

  /** Everything that follows from the pushes so far. */
  async function look(): Promise<void> {
    await reactTo(repositoryStream(world.project.id));
    for (const id of await requestIds()) await reactTo(mergeRequestStream(id));
  }

  async function view(localId = 1): Promise<Json> {
    return (await world.get(anna, `/merge-request/${localId}`)).body;
  }

  const inCopy = (...args: string[]) => git(world.copy, ...args);

  async function push(user: TestUser, ...refs: string[]): Promise<void> {
    await inCopy("push", "--quiet", "--force", world.remote(user), ...refs);
  }

  /** Whether the request is merged once the pushes were compared with it. */
  async function status(localId = 1): Promise<unknown> {
    await look();
    return idOf((await view(localId))["status"]);
  }

  /** The events of a type in the stream of the only request. */
  async function recorded(type: string): Promise<readonly Json[]> {
    const [id] = await requestIds();
    const found: Json[] = [];
    const stream = mergeRequestStream(id ?? "");
    for await (const event of app.platform.store.readStream(stream)) {
      if (event.type === type) found.push({ ...event.data, actor: event.metadata.actor.alias });
    }
    return found;
  }

  async function configure(path: string, body: Json): Promise<void> {
    const answer = await world.put(anna, path, body);
    expect(answer.status, answer.text).to.equal(200);
  }

  return {
    ...{ app, anna, bob, look, view, inCopy, push, status, recorded, configure },
    get world() {
      return world;
    },
  };
}
