import { z } from "zod";
import { type ArchiveFormat, archiveFormats, archiveStream } from "../../../git/archive.ts";
import { Limit } from "../../../platform/limit.ts";
import { packsBusy } from "../../../services/git/pack-slots.ts";
import { carriesTag, type StreamReply } from "../../core/answer.ts";
import { mustAllowDownload } from "../../core/file/download.ts";
import { type Route, route } from "../../core/route.ts";
import { mustFindCommit, refsAsOf, revisionText } from "./revision.ts";

const contentTypes = { zip: "application/zip", "tar.gz": "application/gzip" } as const;

/** Each is a git process at full speed: more at once would only be slower together. */
const slots = new Limit({
  name: "git.archives",
  total: 8,
  share: 2,
  whenFull: { refuseAfterMs: 10_000 },
  waitersMax: 200,
  waitersShare: 20,
  refusal: packsBusy,
});

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
    params: z.object({ ref: z.string().meta({ description: revisionText }) }),
    reply: "stream",
    asOf: refsAsOf,
    async handle({ params, request }, deps): Promise<StreamReply> {
      await mustAllowDownload(deps);
      const { project, userId } = request;
      const { repository, commit, lasting } = await mustFindCommit(deps, project, params.ref);
      const directory = directoryOf(project.alias, params.ref);
      const fileName = `${directory}.${format}`;
      const etag = `${commit.id}-${Buffer.from(fileName).toString("base64url")}`;
      if (lasting) request.immutable(etag);
      const reply = { type: contentTypes[format], fileName, etag };
      if (carriesTag(request.header("if-none-match"), `"${etag}"`)) return { ...reply, body: "" };
      const { leave } = await slots.enter({ caller: userId, signal: request.signal });
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

/** The same for the same ref, and one name on every file system. */
function directoryOf(alias: string, ref: string): string {
  const name = ref.replace(/^refs\/(?:heads|tags)\//, "");
  return `${alias}-${name.replaceAll(/[^\p{L}\p{N}._+-]+/gu, "-")}`;
}
