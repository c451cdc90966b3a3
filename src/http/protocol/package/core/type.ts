import type { Context } from "koa";

import type { PackageType } from "../../../../events/package/version.ts";
import type { PackageName } from "../../../../package/core/coordinates.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import type { Answer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import type { RequestContext } from "../../../core/request.ts";
import type { Right } from "./access.ts";

/** One request at the native paths of a repository, by a caller who has the call's right. */
export type NativeRequest = Readonly<{
  ctx: Context;
  /** Named groups of the call's path. */
  params: Readonly<Record<string, string>>;
  /** The repository that was named. */
  repository: RegistryRepositoryRow;
  /** Absolute URL of the repository, without a slash at its end. */
  base: string;
  request: RequestContext;
  /** Checks the caller's right again: an upload takes long. @throws Refusal, HttpRefusal */
  mustStill: () => Promise<void>;
}>;

export type NativeCall = Readonly<{
  method: "GET" | "PUT" | "POST" | "DELETE";
  /** Of what follows the repository's base and a slash, each part decoded. */
  path: RegExp;
  right: Right;
  /** In the log and the metrics. */
  operationId: string;
  handle: (request: NativeRequest, deps: Deps) => Promise<Answer>;
}>;

/** A read that another registry answers; `repository` of the request is the proxy. */
export type ProxyCall = Readonly<{
  path: RegExp;
  /** In the log and the metrics. */
  operationId: string;
  /**
   * The requested package. Where a virtual repository has it in a local member, no proxy is queried: a stranger may
   * have published under its name elsewhere.
   *
   * @throws Refusal when the path names none
   */
  names: (params: Readonly<Record<string, string>>) => PackageName;
  handle: (request: NativeRequest, deps: Deps) => Promise<Answer>;
}>;

/** All that the registry knows of one ecosystem. */
export type RegistryType = Readonly<{
  packageType: PackageType;
  calls: readonly NativeCall[];
  /** How a proxy is read, where there are proxies of the ecosystem. */
  proxy?: readonly ProxyCall[];
  /** Whether its clients send a token for reading in the path; see takePathToken. */
  takesPathTokens?: true;
  /** What proxies keep of a package; see ownsName. */
  keptPaths?: (name: PackageName) => readonly string[];
  /** A refusal as the ecosystem's client prints it. */
  errorBody: (message: string, code: string) => Readonly<{ type: string; body: string }>;
}>;

export const plainError: RegistryType["errorBody"] = (message) => ({
  type: "text/plain; charset=utf-8",
  body: `${message}\n`,
});
