import type { ProjectRow } from "./project.ts";

/** The addresses git is given. */
export function transportUrls(
  { owner_alias, alias }: Pick<ProjectRow, "owner_alias" | "alias">,
  publicUrl: string,
): Readonly<{ httpTransportUrl: string; sshTransportUrl: string }> {
  return {
    httpTransportUrl: `${publicUrl}/project/${owner_alias}/${alias}.git`,
    sshTransportUrl: `git@${new URL(publicUrl).hostname}:${owner_alias}/${alias}.git`,
  };
}
