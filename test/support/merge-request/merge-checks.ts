import { findRef } from "../../../src/projections/repository/git-ref.ts";
import { mergeCheckWorker } from "../../../src/workers/merge-request/merge-check.ts";
import { startTestApp } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";
import { type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

type Row = Readonly<{ ours: string; theirs: string; conflicts: string[]; tree_id: string | null }>;

export async function givenMergeChecks() {
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { db } = app.deps;
  const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
  let world: MergeWorld;
  beforeEach(async () => {
    world = await newWorld();
  });
  const rows = () => db<Row>("merge_check").where("project_id", world.project.id).orderBy("theirs");
  const run = (head: string, signal = new AbortController().signal) =>
    mergeCheckWorker.runJob({ projectId: world.project.id, branch: "main", head }, deps, signal);
  /** Pushes to a branch; the new head, once it is shown. */
  async function pushed(branch: string, files: Readonly<Record<string, string>>): Promise<string> {
    const head = await world.push(branch, files);
    const ref = () => findRef(db, world.project.id, "branch", branch);
    await eventually(async () => (await ref())?.object_id === head);
    return head;
  }
  return {
    ...{ app, people, db, deps, rows, run, pushed },
    get world() {
      return world;
    },
  };
}
