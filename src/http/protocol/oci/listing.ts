import type { PackageId } from "../../../events/core/ids.ts";
import { hasLinks } from "../../../platform/container/link.ts";
import { referrersOf, tagsOfImage } from "../../../projections/container/manifest.ts";
import { packagesWithIds } from "../../../projections/package/registry.ts";
import { type Answer, jsonAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { digestIn } from "./blob.ts";
import { type ContainerCall, type ContainerRequest, imagesOf, queryParam } from "./call.ts";
import { containerRefusal } from "./error.ts";
import { unknownName } from "./name.ts";

const tagsMax = 1_000;
const referrersMax = 100;
const nothing = "00000000-0000-0000-0000-000000000000";
export const indexType = "application/vnd.oci.image.index.v1+json";

/** The first of the repositories that the repository is made of which has the image. @throws HttpRefusal 404 */
async function mustFindImage(request: ContainerRequest, deps: Deps): Promise<PackageId> {
  const images = await imagesOf(request, deps);
  const existing = await packagesWithIds(deps.db, images);
  const found = images.find((id) => existing.has(id));
  if (found !== undefined) return found;
  const [first] = images;
  if (first !== undefined && (await hasLinks(deps.db, images))) return first;
  throw unknownName();
}

const listTags: ContainerCall = {
  method: "GET",
  path: /^tags\/list$/,
  right: "read",
  operationId: "list-container-tags",
  async handle(request, deps) {
    const { full } = request.name;
    const image = await mustFindImage(request, deps);
    const count = queryParam(request.ctx, "n");
    if (count !== undefined && !/^\d{1,9}$/.test(count)) {
      throw containerRefusal(400, "UNSUPPORTED", "n is a number of tags.");
    }
    const limit = Math.min(Number(count ?? tagsMax), tagsMax);
    if (limit === 0) return jsonAnswer(200, { name: full, tags: [] });
    const after = queryParam(request.ctx, "last") ?? "";
    const found = await tagsOfImage(deps.db, image, { after, limit: limit + 1 });
    const tags = found.slice(0, limit);
    const answer = jsonAnswer(200, { name: full, tags });
    const last = found.length > limit ? tags.at(-1) : undefined;
    if (last === undefined) return answer;
    return withNext(answer, `/v2/${full}/tags/list`, { n: String(limit), last });
  },
};

const listReferrers: ContainerCall = {
  method: "GET",
  path: /^referrers\/(?<digest>[^/]+)$/,
  right: "read",
  operationId: "list-container-referrers",
  async handle(request, deps) {
    const { text: subject } = digestIn(request.params["digest"] ?? "");
    const artifactType = queryParam(request.ctx, "artifactType") || undefined;
    const after = lastIn(request);
    const images = await imagesOf(request, deps);
    const existing = await packagesWithIds(deps.db, images);
    const image = images.find((id) => existing.has(id));
    const page = { subject, artifactType, after, limit: referrersMax + 1 };
    const found = image === undefined ? [] : await referrersOf(deps.db, image, page);
    const rows = found.slice(0, referrersMax);
    const manifests = rows.map((row) => ({
      mediaType: row.media_type,
      digest: row.digest,
      size: Number(row.bytes),
      ...(row.artifact_type !== null && { artifactType: row.artifact_type }),
      ...(row.annotations !== null && { annotations: row.annotations }),
    }));
    const answer = referrersAnswer(manifests, artifactType);
    const last = found.length > referrersMax ? rows.at(-1)?.version_id : undefined;
    if (last === undefined) return answer;
    const query = { ...(artifactType !== undefined && { artifactType }), last };
    return withNext(answer, `/v2/${request.name.full}/referrers/${subject}`, query);
  },
};

/** @param artifactType by which they were filtered */
export function referrersAnswer(manifests: unknown, artifactType: string | undefined): Answer {
  const headers = {
    "Content-Type": indexType,
    ...(artifactType !== undefined && { "OCI-Filters-Applied": "artifactType" }),
  };
  const body = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests });
  return { status: 200, headers, body };
}

function lastIn(request: ContainerRequest): string {
  const last = queryParam(request.ctx, "last") ?? nothing;
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(last) ? last : nothing;
}

/** RFC 8288: where the rest of a list is. */
export function withNext(
  answer: Answer,
  at: string,
  query: Readonly<Record<string, string>>,
): Answer {
  const link = `<${at}?${new URLSearchParams(query).toString()}>; rel="next"`;
  return { ...answer, headers: { ...answer.headers, Link: link } };
}

export const listingCalls: readonly ContainerCall[] = [listTags, listReferrers];
