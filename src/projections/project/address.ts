import type { Settings } from "../../events/instance/settings.ts";
import type { ProjectRow } from "./project.ts";

/** Addresses at which git clients reach this service. */
export type Addresses = Readonly<{
  /** Without a slash at the end. */
  publicUrl: string;
  /** Host name of the SSH server. */
  sshHost: string;
  /** Null for the default port of SSH. */
  sshPort: number | null;
}>;

type Known = Readonly<{
  publicUrl: string;
  /** The host of `publicUrl` by default. */
  publicSshHost?: string | undefined;
  /** 22 by default. */
  publicSshPort?: number | undefined;
}>;

/** @param settings may have another port than the configuration */
export function addressesOf(
  { publicUrl, publicSshHost, publicSshPort }: Known,
  settings: Settings,
): Addresses {
  const sshHost = publicSshHost ?? new URL(publicUrl).hostname;
  const port = settings.enableCustomSshPort ? settings.sshPort : publicSshPort;
  return { publicUrl, sshHost, sshPort: port === undefined || port === 22 ? null : port };
}

/** The addresses of a project for git. */
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
