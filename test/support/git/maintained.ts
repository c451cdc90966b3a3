import { randomUUID } from "node:crypto";
import { openGit } from "../../../src/git/repositories.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { at } from "../app/history.ts";
import { testDatabase } from "../store/database.ts";
import { temporaryDirectory } from "./git.ts";

export const never = new AbortController().signal;

export const projectId = randomUUID();

export async function givenRepositories() {
  const dataDir = await temporaryDirectory();
  const repositories = openGit({ dataDir, log: { warn: () => undefined } });
  after(() => repositories.close());
  // What a project takes is written down afterwards, its LFS objects, packages and images included.
  const { db } = await testDatabase("app");
  // Neither the reactor nor the worker uses more of what workers have.
  const deps = { git: repositories, db, now: () => new Date(at) } as unknown as WorkerDeps;
  return {
    ...{ dataDir, repositories, db, deps },
  };
}
