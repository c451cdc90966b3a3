import { git } from "./git.ts";
import type { People, RefWorld } from "./ref-world.ts";

export type Action = Readonly<Record<string, unknown>>;
export const create = (at: string, content = "new\n"): Action => ({
  ...{ action: "CREATE", path: at, content },
});
export const update = (at: string, content: string): Action => ({
  ...{ action: "UPDATE", path: at, content },
});
export const remove = (at: string): Action => ({ action: "DELETE", path: at });
export const move = (previousPath: string, to: string, content?: string): Action => ({
  ...{ action: "MOVE", path: to, previousPath },
  ...(content === undefined ? {} : { content }),
});

/** Fields of a refusal, with the code of each. */
export const fieldErrors = (body: Record<string, unknown>) =>
  (body["errors"] as { field: string; code: string }[]).map(({ field, code }) => [field, code]);

/** Commits by REST to the project that a test is about, and what its repository then holds. */
export function commitsTo(given: () => Readonly<{ world: RefWorld; people: People }>) {
  const bare = (...args: string[]) => git(given().world.gitDir, "--git-dir=.", ...args);
  return {
    bare,
    commit(actions: readonly Action[], over: object = {}, user = given().people.bob) {
      const body = { branch: "main", message: "By REST", actions, ...over };
      return given().world.post(user, "/commit", body);
    },
    async tree(ref = "main"): Promise<readonly string[]> {
      const listed = await bare("-c", "core.quotePath=false", "ls-tree", "-r", ref);
      const lines = listed.split("\n").filter(Boolean);
      return lines.map((line) => line.replace(/^(\d+) \w+ [0-9a-f]+\t/, "$1 "));
    },
  };
}
