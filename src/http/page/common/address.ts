import { z } from "zod";
import { namesIn, type RoutePath } from "../../core/route.ts";

/** Owner and alias of a project, as a path names them. */
export type Names = Readonly<{ ownerAlias: string; projectAlias: string }>;

const part = (text: string): string => encodeURIComponent(text.toWellFormed());

/** Path of a project's page. */
export const projectPath = ({ ownerAlias, projectAlias }: Names): string =>
  `/project/${part(ownerAlias)}/${part(projectAlias)}`;

/** `?name=value&…` of the values that are there; empty when none are. */
export function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  const texts = pairs.map(([name, value]) => `${name}=${part(String(value))}`);
  return texts.length === 0 ? "" : `?${texts.join("&")}`;
}

/** Path of the page of a file or directory; the root is an empty path. */
export const filePath = (names: Names, revision: string, file: string): string =>
  `${projectPath(names)}/blob${query({ commitHash: revision, file })}`;

/** Path of the bytes of a file. */
export const rawPath = (names: Names, revision: string, file: string): string =>
  `/page${projectPath(names)}/raw${query({ commitHash: revision, file })}`;

export const commitPath = (names: Names, hash: string): string =>
  `${projectPath(names)}/commit/${part(hash)}`;

export const historyPath = (names: Names, revision: string, file = ""): string =>
  `${projectPath(names)}/commits${query({ branch: revision, path: file })}`;

export const tagPath = (names: Names, tag: string): string =>
  `${projectPath(names)}/tag/${part(tag)}`;

export const userPath = (alias: string): string => `/user/${part(alias)}`;

/** What a path of several kinds of owners names. */
export const paramsOf = (path: RoutePath) =>
  z.object(Object.fromEntries(namesIn(path).map((name) => [name, z.string()])));

/** The path of one of them. */
export const filled = (path: RoutePath, params: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));

/** Of a project, where the owner is one. */
export const namesOf = (params: Readonly<Record<string, string>>): Names => ({
  ownerAlias: params["ownerAlias"] ?? "",
  projectAlias: params["projectAlias"] ?? "",
});
