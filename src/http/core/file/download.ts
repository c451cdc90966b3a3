import { Refusal } from "../../../platform/refusal.ts";
import type { Deps } from "../deps.ts";

/** For downloads of files and archives of a project. @throws Refusal 403 `download.disabled` */
export async function mustAllowDownload({ settings }: Pick<Deps, "settings">): Promise<void> {
  if ((await settings()).fileDownloadIsEnabled) return;
  throw new Refusal("forbidden", "download.disabled", "Downloads are switched off here.");
}
