import path from "node:path";

import type { Node, SourceFile } from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

import { packageRoot } from "../../../src/platform/installation.ts";

/** The files of `src` as the compiler reads them, by their path below the root of the project. */
export function parsedSources(): ReadonlyMap<string, SourceFile> {
  const api = new API({ cwd: packageRoot });
  try {
    const config = path.join(packageRoot, "tsconfig.json");
    const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects();
    const files = new Map<string, SourceFile>();
    for (const file of project?.rootFiles ?? []) {
      const name = path.relative(packageRoot, file);
      const source = name.startsWith("src") ? project?.program.getSourceFile(file) : undefined;
      if (source !== undefined) files.set(name, source);
    }
    return files;
  } finally {
    api.close();
  }
}

/** The node and everything below it. */
export function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

export const lineOf = (node: Node): number => {
  const file = node.getSourceFile();
  return file.text.slice(0, node.getStart(file)).split("\n").length;
};
