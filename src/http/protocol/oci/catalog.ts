import type { Context } from "koa";

import {
  type CatalogName,
  type CatalogReader,
  listCatalog,
} from "../../../projections/registry/image-catalog.ts";
import { type Caller, hasScope } from "../../access/gate.ts";
import { type Answer, jsonAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { queryParam } from "./call.ts";
import { containerRefusal } from "./error.ts";
import { withNext } from "./listing.ts";

const namesMax = 1_000;
const namesDefault = 100;
const lastLengthMax = 255;

/** Whether the caller may request a list of images at all; it has only those that they may read. */
export const mayListCatalog = ({ userId, scopes }: Pick<Caller, "userId" | "scopes">): boolean =>
  userId === null || hasScope(scopes, "READ_REGISTRY");

/** Docker Registry HTTP API V2, "Listing Repositories". */
export async function catalog(ctx: Context, caller: Caller, deps: Deps): Promise<Answer> {
  const [count = "", last = ""] = [queryParam(ctx, "n"), queryParam(ctx, "last")];
  if (!/^\d{0,9}$/.test(count)) {
    throw containerRefusal(400, "UNSUPPORTED", "n is a number of images.");
  }
  if (last.length > lastLengthMax || last.includes("\0")) {
    throw containerRefusal(400, "NAME_INVALID", "last is the name of an image.");
  }
  const limit = Math.min(count === "" ? namesDefault : Number(count), namesMax);
  if (limit === 0) return jsonAnswer(200, { repositories: [] });
  const page = { after: placeOf(last), limit: limit + 1 };
  const found = await listCatalog(deps.db, await readerOf(caller, deps), page);
  const repositories = found.slice(0, limit).map(({ path, image }) => `${path}/${image}`);
  const answer = jsonAnswer(200, { repositories });
  const end = found.length > limit ? repositories.at(-1) : undefined;
  return end === undefined
    ? answer
    : withNext(answer, "/v2/_catalog", { n: String(limit), last: end });
}

/** The repository and the image of a name; a text that names none is a place among them as well. */
function placeOf(last: string): CatalogName {
  const parts = last.split("/");
  const length = parts[0] === "instance" ? 2 : 3;
  return { path: parts.slice(0, length).join("/"), image: parts.slice(length).join("/") };
}

async function readerOf({ userId, job }: Caller, { settings }: Deps): Promise<CatalogReader> {
  const projectId = job?.projectId;
  if (userId !== null) return { userId, projectId };
  if (projectId !== undefined) return { userId, projectId };
  const isInstanceOpen = (await settings()).globalRegistryAnonymousAccess;
  return { userId, projectId, isInstanceOpen };
}
