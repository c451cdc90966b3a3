import type { Settings } from "../events/settings.ts";
import type { ProjectRow } from "./project.ts";

/** Where git clients find us. */
export type Addresses = Readonly<{
  /** Without a slash at the end. */
  publicUrl: string;
  /** Null: SSH's own. */
  sshPort: number | null;
}>;

export function addressesOf(publicUrl: string, settings: Settings): Addresses {
  return { publicUrl, sshPort: settings.enableCustomSshPort ? settings.sshPort : null };
}

/** The addresses git is given. */
export function transportUrls(
  { owner_alias, alias }: Pick<ProjectRow, "owner_alias" | "alias">,
  { publicUrl, sshPort }: Addresses,
): Readonly<{ httpTransportUrl: string; sshTransportUrl: string }> {
  const host = new URL(publicUrl).hostname;
  const path = `${owner_alias}/${alias}.git`;
  return {
    httpTransportUrl: `${publicUrl}/project/${path}`,
    sshTransportUrl:
      sshPort === null ? `git@${host}:${path}` : `ssh://git@${host}:${sshPort}/${path}`,
  };
}
