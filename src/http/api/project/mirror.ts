import { z } from "zod";

import { type MirrorCommand, mirror } from "../../../commands/project/mirror.ts";
import type { Sealed } from "../../../events/core/sealed.ts";
import { MirrorType } from "../../../events/project/mirror.ts";
import { projectSubject } from "../../../events/project/project.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findMirrorSync, nextSyncAt } from "../../../projections/project/mirror-sync.ts";
import { findProjectById } from "../../../projections/project/project.ts";
import { mustBeFound } from "../../access/role-access.ts";
import { type Stamp, stamped, stampOf, type Unstamped } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, checkedUrl, fieldRefusal, instant, invalid } from "../../core/schema.ts";
import { addresses, ProjectView, projectView } from "./view.ts";

const path = "/project/{ownerAlias}/{projectAlias}/mirror";
const guarded = {
  tag: "Mirrors",
  scope: "PROJECT_EDIT",
  access: "project:ADMIN",
} as const;

type AtProject = RequestFor<"project:ADMIN">;

/** Both travel in one header, divided by a colon. */
const printable = /^[\x20-\x7e]*$/;
const Username = z
  .string()
  .max(255)
  .regex(printable)
  .regex(/^[^:]*$/);
const Token = z.string().max(4_096).regex(printable);

const NewMirror = z
  .object({
    url: z.string().min(1).max(2_048).meta({ example: "https://git.example.org/team/project.git" }),
    type: MirrorType,
    username: Username.nullish().meta({ description: "`git` when only a token is given." }),
    token: Token.nullish().meta({ description: "Or a password. Never shown again." }),
    overwrite: bool().default(false).meta({
      description: "PULL may replace what a project that is no PULL mirror yet holds.",
    }),
  })
  .meta({ id: "NewMirror" });

const configure = route({
  ...guarded,
  method: "post",
  path,
  operationId: "configureMirror",
  summary: "Make a project a mirror",
  description:
    "PULL: its branches and tags follow those at the URL, and nobody pushes to it. PUSH: those at the " +
    "URL follow the project, and what only the other repository has goes away. Given again, it replaces " +
    "the mirror; credentials are never kept for another configuration.",
  body: NewMirror,
  reply: ProjectView,
  async handle({ body, request }, deps) {
    const { type } = body;
    const url = repositoryUrl(deps, body.url);
    if (type === "PULL" && !body.overwrite) await mustLoseNothing(request, deps);
    const mirrorId = deterministicId(request.commandId, "mirror");
    const credentials = await sealed(request, body, deps);
    const target = { type, url, credentials };
    const { id: projectId } = request.project;
    const command = { type: "ConfigureMirror", projectId, mirrorId, target } as const;
    return carriedOut(command, request, deps);
  },
});

const remove = route({
  ...guarded,
  method: "delete",
  path,
  operationId: "removeMirror",
  summary: "End the mirror of a project",
  description: "Branches and tags stay as they are, in both repositories.",
  reply: ProjectView,
  handle: ({ request }, deps) => carriedOut({ type: "RemoveMirror" }, request, deps),
});

const sync = route({
  ...guarded,
  method: "post",
  path: `${path}/sync`,
  operationId: "syncMirror",
  summary: "Sync a mirror now",
  description:
    "It happens after the answer, as soon as the instance's `projectUpdateLag` since the last time is over.",
  reply: ProjectView,
  handle: ({ request }, deps) => carriedOut({ type: "RequestMirrorSync" }, request, deps),
});

const MirrorView = z
  .object({
    url: z.string(),
    type: MirrorType,
    status: z.enum(["WAITING", "RUNNING", "SUCCESS", "FAILED"]),
    lastStartedAt: instant().nullable(),
    lastSucceededAt: instant().nullable(),
    nextAt: instant().nullable(),
    failures: z.int().meta({ description: "In a row, up to now." }),
    errorCode: z.string().nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: "Mirror" });

const getMirror = route({
  ...guarded,
  method: "get",
  path,
  operationId: "getMirror",
  summary: "Get the state of a project's mirror",
  scope: "PROJECT_READ",
  reply: MirrorView,
  async handle({ request }, deps) {
    const { id, mirror_id, mirror_type: type, mirror_url: url } = request.project;
    if (mirror_id === null || type === null || url === null) throw noMirror();
    const row = await findMirrorSync(deps.db, id, mirror_id);
    const [error, errorCode] = [row?.error ?? null, row?.error_code ?? null];
    const failures = row?.failures ?? 0;
    const running = (row?.runner_until?.getTime() ?? 0) > deps.now().getTime();
    const ended = failures > 0 ? "FAILED" : row?.succeeded_at ? "SUCCESS" : "WAITING";
    const status: z.output<typeof MirrorView>["status"] = running ? "RUNNING" : ended;
    return {
      url,
      type,
      status,
      lastStartedAt: row?.started_at ?? null,
      lastSucceededAt: row?.succeeded_at ?? null,
      nextAt: row === undefined ? null : nextSyncAt(row, await deps.settings()),
      failures,
      errorCode,
      error,
    };
  },
});

export const mirrorRoutes: readonly Route[] = [configure, getMirror, sync, remove];

type Stamped = Extract<MirrorCommand, Stamp>;

async function carriedOut(command: Unstamped<Stamped>, request: AtProject, deps: Deps) {
  const { id } = request.project;
  await request.execute(mirror, id, stamped<Stamped>(command, stampOf(request, deps)));
  const row = mustBeFound(await findProjectById(deps.db, id), "project");
  return projectView(row, await addresses(deps));
}

function repositoryUrl(deps: Pick<Deps, "checkUrl">, text: string): string {
  const url = checkedUrl(deps, "url", text);
  // What follows would be part of no request git makes, but might be a secret.
  if (url.search === "" && url.hash === "") return url.href;
  const message = "The URL of a repository has no query and no fragment.";
  throw invalid([{ field: "url", code: "url.malformed", message }]);
}

/** Another repository's branches are about to take the place of the project's own. */
async function mustLoseNothing({ project }: AtProject, { git }: Deps): Promise<void> {
  if (project.mirror_type === "PULL") return;
  const refs = await (await git.find(project.id))?.refs();
  if (refs === undefined || refs.size === 0) return;
  const message =
    "The project has branches or tags, which a PULL mirror would replace; send overwrite: true.";
  throw fieldRefusal("overwrite", "mirror.not_empty", message);
}

async function sealed(
  { project }: AtProject,
  { username, token }: z.output<typeof NewMirror>,
  { vault }: Deps,
): Promise<Sealed | null> {
  if ((token ?? "") === "" && (username ?? "") === "") return null;
  const credentials = { username: username || "git", token: token ?? "" };
  return vault.seal(projectSubject(project.id), JSON.stringify(credentials));
}

function noMirror(): Refusal {
  return new Refusal("not_found", "mirror.not_found", "The project is not a mirror.");
}
