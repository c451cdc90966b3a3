import { randomUUID } from "node:crypto";
import { cp, mkdir } from "node:fs/promises";
import path from "node:path";

import type { NewEvent } from "../../../src/events/core/event.ts";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { membershipStream } from "../../../src/events/team/membership.ts";
import { directoryOf } from "../../../src/git/repositories.ts";
import type { TestApp, TestProject } from "../app/app.ts";
import { git as runGit } from "./git.ts";

/** The repository and events of a project that others begin with as well. */
export type Begun = Readonly<{
  project: TestProject;
  gitDir: string;
  events: ReadonlyMap<(id: string) => string, readonly NewEvent[]>;
}>;

/** Copies what requests have made of a project so far. */
export async function begunBy(app: TestApp, project: TestProject, parent: string): Promise<Begun> {
  const { git, store } = app.platform;
  const gitDir = path.join(parent, "begun.git");
  const own = (await git.find(project.id))?.gitDir ?? "";
  // Workers pack refs: one that is moved while the files are copied would be missing in the copy.
  await runGit(own, "pack-refs", "--all");
  await cp(own, gitDir, { recursive: true });
  const events = new Map<(id: string) => string, NewEvent[]>();
  for (const streamOf of [membershipStream, repositoryStream]) {
    const stored: NewEvent[] = [];
    for await (const { type, data, metadata, id } of store.readStream(streamOf(project.id))) {
      stored.push({ type, data, metadata, id });
    }
    events.set(streamOf, stored);
  }
  return { project, gitDir, events };
}

/** Gives a new project the same repository and members, without the requests. */
export async function beginAs(app: TestApp, { id }: TestProject, begun: Begun): Promise<void> {
  const gitDir = directoryOf(path.join(app.dataDir, "repositories"), id);
  await mkdir(path.dirname(gitDir), { recursive: true });
  await cp(begun.gitDir, gitDir, { recursive: true });
  for (const [streamOf, events] of begun.events) {
    const own = JSON.parse(JSON.stringify(events).replaceAll(begun.project.id, id)) as NewEvent[];
    const commandId = randomUUID();
    const appended = own.map((event) => {
      const metadata = { ...event.metadata, commandId, correlationId: commandId };
      return { ...event, id: randomUUID(), metadata };
    });
    await app.platform.store.append(streamOf(id), "none", appended);
  }
  await app.deps.visible(await app.head());
}
