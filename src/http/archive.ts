import { z } from "zod";

import { branchPrefix, tagPrefix } from "../events/repository.ts";
import { Places } from "../git/places.ts";
import { type ArchiveFormat, archiveFormats, archiveStream } from "../platform/git/archive.ts";
import { isObjectId } from "../platform/git/name.ts";
import { Refusal } from "../platform/refusal.ts";
import { findRef } from "../projections/git-ref.ts";
import type { ProjectRow } from "../projections/project.ts";
import { carriesTag, type StreamReply } from "./answer.ts";
import type { Deps } from "./deps.ts";
import { mustAllowDownload } from "./file-download.ts";
import { mustFindCommit } from "./repository-access.ts";
import { type Route, route } from "./route.ts";

const contentTypes = { zip: "application/zip", "tar.gz": "application/gzip" } as const;

/** Each is a git process at full speed: more at once would only be slower together. */
const places = new Places({ placesMax: 8, perCallerMax: 2, waitMs: 10_000 });

const archiveAs = (format: ArchiveFormat): Route =>
  route({
    method: "get",
    path: `/project/{ownerAlias}/{projectAlias}/archive/{ref}.${format}`,
    operationId: format === "zip" ? "getZipArchive" : "getTarArchive",
    summary: `Download the files of a branch, a tag or a commit as ${format}`,
    description:
      "Slashes in names are written `%2F`. Of a branch and a tag by one name it is the branch; `refs/tags/…` says which. Everything lies in one directory, named after the project and the ref.",
    tag: "Files",
    scope: "PROJECT_READ",
    access: "project:GUEST",
    params: z.object({
      ownerAlias: z.string(),
      projectAlias: z.string(),
      ref: z.string().meta({ description: "A name, or the full hash of a commit." }),
    }),
    reply: "stream",
    errors: [403, 404],
    async handle({ params, request }, deps): Promise<StreamReply> {
      await mustAllowDownload(deps);
      const { project, userId } = request;
      const hash = await commitNamed(deps, project, params.ref);
      const { repository, commit } = await mustFindCommit(deps, project, hash);
      const directory = directoryOf(project.alias, params.ref);
      const fileName = `${directory}.${format}`;
      const etag = `${commit.id}-${Buffer.from(fileName).toString("base64url")}`;
      const reply = { type: contentTypes[format], fileName, etag };
      if (carriesTag(request.header("if-none-match"), `"${etag}"`)) return { ...reply, body: "" };
      const leave = await places.enter(userId, request.signal);
      try {
        const body = archiveStream(repository, commit.id, { format, directory });
        return { ...reply, body: body.once("close", leave) };
      } catch (error) {
        leave();
        throw error;
      }
    },
  });

export const archiveRoutes: readonly Route[] = archiveFormats.map(archiveAs);

/**
 * A full hash is a commit, whatever else is called so: nobody takes the place of a commit by naming
 * a branch after it.
 */
async function commitNamed({ db }: Deps, { id }: ProjectRow, name: string): Promise<string> {
  const hash = name.toLowerCase();
  if (isObjectId(hash)) return hash;
  const short = (prefix: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
  const asBranch = name.startsWith(tagPrefix) ? undefined : short(branchPrefix);
  const asTag = name.startsWith(branchPrefix) ? undefined : short(tagPrefix);
  const row =
    (asBranch && (await findRef(db, id, "branch", asBranch))) ||
    (asTag && (await findRef(db, id, "tag", asTag)));
  if (row && row.commit_id !== null) return row.commit_id;
  throw new Refusal("not_found", "ref.not_found", "There is no such branch, tag or commit.");
}

/** The same for the same ref, and one name on every file system. */
function directoryOf(alias: string, ref: string): string {
  const name = ref.replace(/^refs\/(?:heads|tags)\//, "");
  return `${alias}-${name.replaceAll(/[^\p{L}\p{N}._+-]+/gu, "-")}`;
}
