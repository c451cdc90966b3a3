import { z } from "zod";

import { handle } from "../../../commands/core/handle.ts";
import { lfsObject } from "../../../commands/git/lfs-object.ts";
import { LfsOid } from "../../../events/core/ids.ts";
import { lfsObjectId } from "../../../events/git/lfs-object.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { invariant } from "../../../platform/invariant.ts";
import { type IssuedLfsToken, LfsOperation } from "../../../platform/key/lfs-token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findLfsObject,
  findLfsObjects,
  type LfsObjectRow,
} from "../../../projections/git/lfs-object.ts";
import { send, streamAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { HttpRefusal } from "../../core/errors.ts";
import { openPortion } from "../../core/file/referred-blob.ts";
import { checked, nameLengthMax } from "../../core/schema.ts";
import { requestBody } from "../../core/stream.ts";
import { issueFor, type LfsAccess, mayStillUpload } from "./access.ts";
import { type LfsCall, type LfsRequest, lfsAnswer, lfsBody, lfsMetadata } from "./request.ts";

/** git-lfs requests a hundred objects at a time. */
const batchMax = 1_000;

const NamedObject = z.object({ oid: z.string().max(nameLengthMax), size: z.int().nonnegative() });
type NamedObject = z.output<typeof NamedObject>;

const Batch = z.object({
  operation: LfsOperation,
  transfers: z.array(z.string().max(nameLengthMax)).max(20).optional(),
  hash_algo: z.string().max(nameLengthMax).optional(),
  objects: z.array(NamedObject).max(batchMax),
});

/** git-lfs/docs/api/batch.md: the address to download or upload each object at. */
const batch: LfsCall = {
  method: "POST",
  path: /^objects\/batch$/,
  operationId: "lfs-batch",
  async handle(request, deps) {
    // Readers may send a batch; the right to write is checked once the operation is known.
    await request.authenticate("download");
    const body = await lfsBody(request, Batch);
    const { operation, objects, transfers = ["basic"], hash_algo = "sha256" } = body;
    const access =
      operation === "upload"
        ? await request.authenticate("upload")
        : await request.authenticate("download");
    if (hash_algo !== "sha256") {
      throw new Refusal("conflict", "lfs.hash_unknown", "Objects are named by SHA-256 alone.");
    }
    if (!transfers.includes("basic")) {
      throw new Refusal(
        "unprocessable",
        "lfs.transfer_unknown",
        "Only the basic transfer is supported.",
      );
    }
    const { id: projectId } = access.project;
    const there = await findLfsObjects(
      deps.db,
      projectId,
      objects.map(({ oid }) => oid),
    );
    const room = operation === "upload" ? await request.bytesLeft(access.project) : 0;
    const issued = await issueFor(access, operation, { db: deps.db, tokens: request.tokens });
    const present = presenter(request, operation, { ...access, room, issued }, deps);
    const answered = objects.map((object) => present(object, there.get(object.oid)));
    lfsAnswer(request, 200, { transfer: "basic", objects: answered, hash_algo });
  },
};

type Present = (object: NamedObject, row: LfsObjectRow | undefined) => unknown;

function presenter(
  { ctx }: LfsRequest,
  operation: LfsOperation,
  {
    project,
    room,
    issued,
  }: LfsAccess & Readonly<{ room: number; issued: IssuedLfsToken | undefined }>,
  { publicUrl, config }: Deps,
): Present {
  const base = `${publicUrl}/project/${project.owner_alias}/${project.alias}.git/info/lfs/objects`;
  // Cheap to check for each object, and neither a password nor a wider token is sent with it.
  const signed = issued && {
    header: { Authorization: `Bearer ${issued.token}` },
    expires_in: issued.expiresInSeconds,
  };
  const action = (href: string) => ({ href, ...signed });
  invariant(ctx.method === "POST", "a batch is posted");

  return ({ oid, size }, row) => {
    const failed = (code: number, message: string) => ({ oid, size, error: { code, message } });
    if (!LfsOid.safeParse(oid).success) return failed(422, "This is no object id.");
    if (row !== undefined && Number(row.bytes) !== size) {
      return failed(422, `The object has ${row.bytes} bytes.`);
    }
    // Without a token in the answer, git-lfs is to send what it authenticated with.
    const found = { oid, size, authenticated: signed !== undefined };
    if (operation === "download") {
      if (row === undefined) return failed(404, "The project has no such object.");
      return { ...found, actions: { download: action(`${base}/${oid}`) } };
    }
    if (row !== undefined) return found;
    if (size > config.lfsObjectBytesMax) {
      return failed(422, `An object has at most ${config.lfsObjectBytesMax} bytes.`);
    }
    if (size > room) return failed(507, "The project has no room for it.");
    const upload = action(`${base}/${oid}/${size}`);
    return { ...found, actions: { upload, verify: action(`${base}/verify`) } };
  };
}

/**
 * Stores an object. Its bytes are required even when another project has them: an id alone gives no access.
 * git-lfs/docs/api/basic-transfers.md
 */
const upload: LfsCall = {
  method: "PUT",
  path: /^objects\/(?<oid>[0-9a-f]{64})\/(?<size>\d{1,15})$/,
  operationId: "lfs-upload",
  async handle(request, deps) {
    const { ctx, params } = request;
    const access = await request.authenticate("upload");
    const { caller, project } = access;
    const { userId: by } = caller;
    invariant(by !== null, "nobody uploads without a name");
    const oid = LfsOid.parse(params["oid"]);
    const bytes = Number(params["size"]);
    const { lfsObjectBytesMax: bytesMax } = deps.config;
    if (bytes > bytesMax) {
      const message = `An object has at most ${bytesMax} bytes.`;
      throw new Refusal("too_large", "blob.too_large", message);
    }
    const room = await request.hold(project, bytes).catch((error: unknown) => {
      if (!(error instanceof Refusal && error.code === "project.full")) throw error;
      throw new HttpRefusal(507, error.code, "The project has no room for it.");
    });
    const body = requestBody(ctx, bytes + 1);
    const blob = await deps.blobs.putPlain(body, {
      bytesMax: bytes,
      room,
      expected: { sha256: oid, bytes },
    });
    if (!(await mayStillUpload(access, { ...deps, tokens: request.tokens }))) {
      await blob.release();
      const message = "You may not upload to this project any more.";
      throw new Refusal("forbidden", "auth.role_missing", message);
    }
    const at = deps.now().toISOString();
    const { id: projectId } = project;
    const command = { type: "StoreLfsObject", projectId, oid, bytes, by, at } as const;
    const id = lfsObjectId(projectId, oid);
    const metadata = await lfsMetadata(request, caller, deterministicId("lfs object", id), deps);
    const { position } = await handle(deps.store, lfsObject, { id, command, metadata });
    await deps.visible(position);
    await blob.release();
    ctx.status = 200;
    ctx.body = "";
  },
};

const download: LfsCall = {
  method: "GET",
  path: /^objects\/(?<oid>[0-9a-f]{64})$/,
  operationId: "lfs-download",
  async handle(request, deps) {
    const { ctx, params } = request;
    const { project } = await request.authenticate("download");
    const header = (name: string): string => ctx.get(name);
    const find = async () => {
      const { oid: sha256, bytes } = await mustFind(deps, project.id, params["oid"] ?? "");
      return { sha256, bytes };
    };
    const { row, reply } = await openPortion(find, { header }, deps);
    const type = "application/octet-stream";
    send(ctx, streamAnswer(200, { ...reply, type, fileName: row.sha256 }), row.sha256);
  },
};

const verify: LfsCall = {
  method: "POST",
  path: /^objects\/verify$/,
  operationId: "lfs-verify",
  async handle(request, deps) {
    const { project } = await request.authenticate("upload");
    const { oid, size } = await lfsBody(request, NamedObject);
    const row = await mustFind(deps, project.id, checked(LfsOid, oid));
    if (Number(row.bytes) !== size) {
      throw new HttpRefusal(422, "blob.size_mismatch", `The object has ${row.bytes} bytes.`);
    }
    lfsAnswer(request, 200, { oid, size });
  },
};

export const objectCalls: readonly LfsCall[] = [batch, download, upload, verify];

/** An object of this project; one of another project is not found. */
async function mustFind(
  { db }: Pick<Deps, "db">,
  projectId: string,
  oid: string,
): Promise<LfsObjectRow> {
  const row = await findLfsObject(db, projectId, oid);
  if (row !== undefined) return row;
  throw new Refusal("not_found", "lfs_object.not_found", "The project has no such object.");
}
