import type { Settings } from "../../events/instance/settings.ts";
import type { ProjectRow } from "./project.ts";

/** Where git clients find us. */
export type Addresses = Readonly<{
  /** Without a slash at the end. */
  publicUrl: string;
  /** Name of the machine that answers SSH. */
  sshHost: string;
  /** Null: SSH's own. */
  sshPort: number | null;
}>;

export function addressesOf(
  { publicUrl, publicSshHost }: Readonly<{ publicUrl: string; publicSshHost?: string | undefined }>,
  settings: Settings,
): Addresses {
  const sshHost = publicSshHost ?? new URL(publicUrl).hostname;
  return { publicUrl, sshHost, sshPort: settings.enableCustomSshPort ? settings.sshPort : null };
}

/** The addresses git is given. */
export function transportUrls(
  { owner_alias, alias }: Pick<ProjectRow, "owner_alias" | "alias">,
  { publicUrl, sshHost, sshPort }: Addresses,
): Readonly<{ httpTransportUrl: string; sshTransportUrl: string }> {
  const path = `${owner_alias}/${alias}.git`;
  return {
    httpTransportUrl: `${publicUrl}/project/${path}`,
    sshTransportUrl:
      sshPort === null ? `git@${sshHost}:${path}` : `ssh://git@${sshHost}:${sshPort}/${path}`,
  };
}
