import { z } from "zod";

import {
  type LoginConnectionCommand,
  loginConnection,
} from "../../../commands/login/connection.ts";
import { LoginConnectionId } from "../../../events/core/ids.ts";
import type { Sealed } from "../../../events/core/sealed.ts";
import {
  type ConnectionDetails,
  type ConnectionKind,
  loginConnectionSubject,
} from "../../../events/login/connection.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { BadCertificate, parseCertificates } from "../../../platform/identity/certificate.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  type ConnectionOf,
  findLoginConnection,
  listLoginConnections,
} from "../../../projections/login/connection.ts";
import { stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import { type Route, type RoutePath, route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";

/** What the three kinds of connections share: four administrator's methods each. */
export type ConnectionMethods<
  Kind extends ConnectionKind,
  Body extends z.ZodType,
  View extends z.ZodType,
> = Readonly<{
  kind: Kind;
  /** `/admin/saml` */
  path: RoutePath;
  /** Name of the id in paths. */
  param: string;
  /** Forms of the method that switches a connection, the documented one first. */
  statusPaths: readonly [RoutePath, ...RoutePath[]];
  /** Name in the answer of the list. */
  list: string;
  body: Body;
  view: View;
  /** @throws Refusal 422 for errors that the schema cannot detect */
  detailsOf: (input: ConnectionInput<Kind, Body>, deps: Deps) => Promise<ConnectionDetails>;
  viewOf: (connection: ConnectionOf<Kind>, deps: Deps) => Promise<z.input<View>>;
}>;

export type ConnectionInput<Kind extends ConnectionKind, Body extends z.ZodType> = Readonly<{
  id: LoginConnectionId;
  body: z.output<Body>;
  /** As it is before a change: what is not sent again (a secret) stays. */
  before: ConnectionOf<Kind> | undefined;
}>;

/** The same, its types checked and forgotten: the machinery and the handlers pass on what schemas gave. */
type AnyMethods = ConnectionMethods<ConnectionKind, z.ZodType, z.ZodType>;

export function connectionRoutes<
  Kind extends ConnectionKind,
  Body extends z.ZodType,
  View extends z.ZodType,
>(methods: ConnectionMethods<Kind, Body, View>): readonly Route[] {
  const any = methods as unknown as AnyMethods;
  return [listRoute(any), createRoute(any), changeRoute(any), statusRoute(any)];
}

const common = { tag: "Administration", scope: "USER_WRITE", access: "admin" } as const;

const nameOf = ({ kind }: AnyMethods): string => kind.charAt(0) + kind.slice(1).toLowerCase();

function listRoute(methods: AnyMethods): Route {
  const { kind, path, list, view, viewOf } = methods;
  return route({
    ...common,
    method: "get",
    path,
    operationId: `list${nameOf(methods)}Connections`,
    summary: `List the ${kind} connections`,
    list,
    reply: view,
    errors: [404],
    handle: ({ page }, deps) =>
      listed(listLoginConnections(deps.db, kind, page), (row) => viewOf(row, deps)),
  });
}

function createRoute(methods: AnyMethods): Route {
  const { kind, path, body, view, detailsOf } = methods;
  return route({
    ...common,
    method: "post",
    path,
    operationId: `create${nameOf(methods)}Connection`,
    summary: `Create a ${kind} connection`,
    description: "Nobody logs in by it before it is enabled.",
    body,
    reply: view,
    errors: [404],
    async handle({ body, request }, deps) {
      const id = LoginConnectionId.parse(deterministicId(request.commandId, "login connection"));
      const details = await detailsOf({ id, body, before: undefined }, deps);
      const stamp = stampOf(request, deps);
      const command = { type: "CreateLoginConnection", connectionId: id, details, ...stamp };
      await request.execute(loginConnection, id, command as LoginConnectionCommand);
      return findView(methods, id, deps);
    },
  });
}

function changeRoute(methods: AnyMethods): Route {
  const { kind, path, param, body, view, detailsOf } = methods;
  return route({
    ...common,
    method: "put",
    path: `${path}/{${param}}`,
    operationId: `change${nameOf(methods)}Connection`,
    summary: `Change a ${kind} connection`,
    params: z.object({ [param]: LoginConnectionId }),
    body,
    reply: view,
    async handle({ params, body, request }, deps) {
      const id = LoginConnectionId.parse(params[param]);
      const before = mustBeFound(await findLoginConnection(deps.db, kind, id));
      const details = await detailsOf({ id, body, before }, deps);
      const stamp = stampOf(request, deps);
      await request.execute(loginConnection, id, {
        type: "ChangeLoginConnection",
        details,
        ...stamp,
      });
      return findView(methods, id, deps);
    },
  });
}

function statusRoute(methods: AnyMethods): Route {
  const { kind, param, statusPaths } = methods;
  const [path, ...alsoAt] = statusPaths;
  return route({
    ...common,
    method: "put",
    path,
    alsoAt,
    operationId: `change${nameOf(methods)}ConnectionStatus`,
    summary: `Enable or disable a ${kind} connection`,
    params: z.object({ [param]: LoginConnectionId }),
    query: z.object({
      isEnabled: bool().meta({ example: true }),
    }),
    reply: "empty",
    async handle({ params, query, request }, deps) {
      const id = LoginConnectionId.parse(params[param]);
      mustBeFound(await findLoginConnection(deps.db, kind, id));
      const stamp = stampOf(request, deps);
      await request.execute(loginConnection, id, {
        type: "SetLoginConnectionStatus",
        kind,
        enabled: query.isEnabled,
        ...stamp,
      });
    },
  });
}

async function findView({ kind, viewOf }: AnyMethods, id: string, deps: Deps) {
  return await viewOf(mustBeFound(await findLoginConnection(deps.db, kind, id)), deps);
}

function mustBeFound<Connection>(connection: Connection | undefined): Connection {
  if (connection !== undefined) return connection;
  throw new Refusal("not_found", "login_connection.not_found", "Connection not found.");
}

/** A field that is wrong for a reason of its own. */
export function wrongField(field: string, code: string, message: string): Refusal {
  return new Refusal("unprocessable", code, `${field}: ${message}`, {
    errors: [{ field, code, message }],
  });
}

/** @throws Refusal 422 `certificate.invalid` that says why */
export function mustBeCertificates(field: string, text: string, { now }: Pick<Deps, "now">): void {
  try {
    parseCertificates(text, now());
  } catch (error) {
    if (!(error instanceof BadCertificate)) throw error;
    throw wrongField(field, "certificate.invalid", error.message);
  }
}

/** A sealed secret of a connection, and the digest by which a change is detected. */
export async function sealedFor(
  id: LoginConnectionId,
  text: string,
  { vault }: Pick<Deps, "vault">,
): Promise<Readonly<{ sealed: Sealed; digest: string }>> {
  return {
    sealed: await vault.seal(loginConnectionSubject(id), text),
    digest: vault.digest("connection secret", text),
  };
}
