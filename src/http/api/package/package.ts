import { z } from "zod";

import { instanceRegistryId } from "../../../events/package/version.ts";
import { packageVersionIdOf } from "../../../package/core/coordinates.ts";
import { invariant } from "../../../platform/invariant.ts";
import { listLivePackages, listLiveVersions } from "../../../projections/package/live.ts";
import type { PackageRow } from "../../../projections/package/table.ts";
import { countLivePackages } from "../../../projections/package/total.ts";
import {
  findPackage,
  findPackageVersion,
  listPackageFiles,
} from "../../../projections/package/version.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import {
  orNotFound,
  packageNotFound,
  packageParameters,
  versionName,
  versionNotFound,
} from "./request.ts";
import {
  PackageFileView,
  PackageVersionView,
  PackageView,
  packageFileView,
  packageVersionViews,
  packageViews,
} from "./view.ts";

/** Who may read the registry of the instance. */
export const reading = {
  tag: "Service-level packages",
  scope: "READ_REGISTRY",
  access: "admin:READER",
  anonymousWhen: "globalRegistryAnonymousAccess",
} as const;

const getPackages = route({
  ...reading,
  method: "get",
  path: "/registry/package",
  operationId: "listPackages",
  summary: "List the packages of the instance by name",
  list: "simplePackageInfoModelList",
  reply: PackageView,
  errors: [404],
  async handle({ page }, { db }) {
    const [rows, totalElements] = await Promise.all([
      listLivePackages(db, [instanceRegistryId], page),
      countLivePackages(db, [instanceRegistryId]),
    ]);
    return { items: await packageViews(db, rows), totalElements };
  },
});

const getPackage = route({
  ...reading,
  method: "get",
  path: "/registry/package/{packageUuid}",
  operationId: "getPackage",
  summary: "Get a package",
  reply: PackageView,
  async handle({ params: { packageUuid } }, deps) {
    const [view] = await packageViews(deps.db, [await mustFindPackage(packageUuid, deps)]);
    invariant(view !== undefined, "one package makes one view");
    return view;
  },
});

const getPackageVersions = route({
  ...reading,
  method: "get",
  path: "/registry/package/{packageUuid}/version-list",
  operationId: "listPackageVersions",
  summary: "List the versions of a package, newest first",
  list: "simplePackageVersionModelList",
  reply: PackageVersionView,
  async handle({ params: { packageUuid }, page }, deps) {
    const { db } = deps;
    const found = await mustFindPackage(packageUuid, deps);
    const { rows, total } = await listLiveVersions(db, found, page);
    const items = await packageVersionViews(db, found.type, rows);
    return { items, totalElements: total };
  },
});

const getPackageVersion = route({
  ...reading,
  method: "get",
  path: "/registry/package/{packageUuid}/{packageVersion}",
  operationId: "getPackageVersion",
  summary: "Get a version of a package",
  description: "By any spelling that is the same version in its ecosystem.",
  params: z.object({ packageVersion: packageParameters.genericVersion }),
  reply: PackageVersionView,
  async handle({ params: { packageUuid, packageVersion } }, deps) {
    const { id, type } = await mustFindPackage(packageUuid, deps);
    const name = orNotFound(() => versionName(type, packageVersion));
    return mustPresentVersion(packageVersionIdOf(id, name), type, deps);
  },
});

const getPackageFiles = route({
  ...reading,
  method: "get",
  path: "/registry/package/{packageUuid}/package-file",
  operationId: "listPackageFiles",
  summary: "List the files of all versions of a package by name",
  list: "simplePackageFileModelList",
  reply: PackageFileView,
  async handle({ params: { packageUuid }, page }, deps) {
    const { id } = await mustFindPackage(packageUuid, deps);
    return listed(listPackageFiles(deps.db, id, page), packageFileView);
  },
});

export const packageRoutes: readonly Route[] = [
  getPackage,
  getPackageFiles,
  getPackages,
  getPackageVersion,
  getPackageVersions,
];

async function mustFindPackage(id: string, { db }: Pick<Deps, "db">): Promise<PackageRow> {
  const row = await findPackage(db, instanceRegistryId, id);
  if (row === undefined) throw packageNotFound();
  return row;
}

/** @throws Refusal 404 */
export async function mustPresentVersion(
  id: string,
  type: PackageRow["type"],
  { db }: Pick<Deps, "db">,
) {
  const row = await findPackageVersion(db, id);
  const [view] = row === undefined ? [] : await packageVersionViews(db, type, [row]);
  if (view === undefined) throw versionNotFound();
  return view;
}
