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
