import { z } from "zod";
import { pipelineLifetime } from "../../../commands/pipeline/lifetime.ts";
import { lifetimeDaysDefault } from "../../../events/pipeline/lifetime.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import {
  findLifetime,
  pipelineLifetimeProjection,
} from "../../../projections/pipeline/lifetime.ts";
import {
  accessAt,
  companyScope,
  type OwnerScope,
  type Parent,
  parentOf,
  teamScope,
} from "../../access/owner-scope.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, int } from "../../core/schema.ts";

const lifetimeDaysMax = 36_500;

const LifetimeView = z
  .object({
    lifetime: z.int().meta({ description: "Days." }),
    ownerType: z.enum(["COMPANY", "TEAM"]),
    uuid: z.uuid(),
    enabled: z.boolean(),
  })
  .meta({ id: "PipelineLifetime" });

const Change = z
  .object({
    lifetime: int({ min: 1, max: lifetimeDaysMax }).optional(),
    enabled: bool().optional(),
  })
  .meta({ id: "PipelineLifetimeChange" });

const settingIdOf = ({ id }: Parent): string => deterministicId("pipeline lifetime", id);

async function findView({ db }: Deps, parent: Parent): Promise<z.input<typeof LifetimeView>> {
  const row = await findLifetime(db, parent.id);
  return {
    lifetime: row?.lifetime_days ?? lifetimeDaysDefault,
    ownerType: parent.type === "COMPANY" ? "COMPANY" : "TEAM",
    uuid: row?.id ?? settingIdOf(parent),
    enabled: row?.enabled ?? false,
  };
}

const declared = (ownerScope: OwnerScope) =>
  ({
    path: `${ownerScope.base}/setting/cicd/pipeline-lifetime`,
    tag: "Pipelines",
    access: accessAt(ownerScope, "ADMIN"),
    reply: LifetimeView,
  }) as const;

const get = (ownerScope: OwnerScope): Route =>
  route({
    ...declared(ownerScope),
    method: "get",
    operationId: `get${ownerScope.noun}PipelineLifetime`,
    summary: `Tell how long pipelines of a ${ownerScope.resource} are kept`,
    scope: ownerScope.read,
    asOf: { readModels: [pipelineLifetimeProjection] },
    handle: ({ request }, deps) => findView(deps, parentOf(request)),
  });

const put = (ownerScope: OwnerScope): Route =>
  route({
    ...declared(ownerScope),
    method: "put",
    operationId: `set${ownerScope.noun}PipelineLifetime`,
    summary: `Set how long pipelines of a ${ownerScope.resource} are kept`,
    description: "Pipelines of all its projects that have ended and are older are deleted.",
    scope: ownerScope.write,
    body: Change,
    async handle({ body, request }, deps) {
      const parent = parentOf(request);
      const before = await findView(deps, parent);
      const command = {
        type: "SetPipelineLifetime",
        settingId: settingIdOf(parent),
        parentId: parent.id,
        parentType: before.ownerType,
        lifetimeDays: body.lifetime ?? before.lifetime,
        enabled: body.enabled ?? before.enabled,
        setById: request.userId,
        setAt: deps.now().toISOString(),
      } as const;
      await request.execute(pipelineLifetime, parent.id, command);
      return findView(deps, parent);
    },
  });

export const lifetimeRoutes: readonly Route[] = [teamScope, companyScope].flatMap((ownerScope) => [
  get(ownerScope),
  put(ownerScope),
]);
