import path from "node:path";

/** Which layers a layer imports, besides itself. */
const layers: Readonly<Record<string, readonly string[]>> = {
  events: [],
  platform: ["events", "config.ts"],
  git: ["platform"],
  package: ["events", "platform"],
  "pipeline-file": ["events", "platform"],
  commands: ["events", "platform", "git"],
  projections: ["events", "platform", "git", "package"],
  services: ["events", "platform", "git", "pipeline-file", "commands", "projections"],
  workers: ["events", "platform", "git", "pipeline-file", "commands", "projections", "services"],
  http: [
    ...["events", "platform", "git", "package", "pipeline-file"],
    ...["commands", "projections", "services"],
  ],
  ssh: ["events", "platform", "git", "projections", "services"],
  embedded: ["platform", "config.ts"],
  agent: ["platform", "pipeline-file", "embedded", "config.ts"],
  cli: [
    ...["events", "platform", "git", "package", "pipeline-file"],
    ...["commands", "projections", "services", "workers", "http", "ssh"],
    ...["agent", "embedded", "config.ts", "main.ts", "first-administrator.ts"],
  ],
};

/** Files of `http` that show queues and reactors to operators, and so import what lists them in `workers`. */
const showWorkers: ReadonlySet<string> = new Set([
  "http/api/ops/metrics.ts",
  "http/page/ops/ops-page.ts",
  "http/service.ts",
]);

/** Folders of a layer whose own folders are the sections. */
const groups: Readonly<Record<string, readonly string[]>> = { http: ["api", "page", "protocol"] };

/**
 * Which sections a section imports within its layer, besides itself and the common ones. The root of a layer, and of a
 * group, puts the sections together and imports all of them.
 */
const sections: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  events: {
    issue: ["label"],
    "merge-request": ["label"],
    agent: ["pipeline"],
    oauth: ["token"],
    registry: ["package"],
  },
  package: { composer: ["generic"] },
  commands: {
    login: ["user"],
    project: ["team"],
    team: ["project"],
  },
  projections: {
    access: ["token", "user"],
    agent: ["pipeline"],
    audit: ["user"],
    "merge-request": ["instance"],
    past: ["audit"],
    project: ["container", "git", "package", "team"],
    protection: ["instance", "project"],
    reference: ["project"],
    registry: ["team"],
    team: ["project", "user"],
  },
  services: {
    "merge-request": ["git", "pipeline"],
    pipeline: ["git"],
    project: ["git"],
  },
  workers: {
    issue: ["user", "webhook"],
    "merge-request": ["pipeline", "user", "webhook"],
    webhook: ["issue", "merge-request"],
    user: ["repository"],
  },
  http: {
    access: ["page/core"],
    "api/agent": ["access", "api/pipeline"],
    "api/audit": ["access"],
    "api/feed": ["access", "api/audit"],
    "api/instance": ["access"],
    "api/issue": ["access", "api/label", "api/reference", "api/user"],
    "api/login": ["access", "api/user"],
    "api/merge-request": [
      "access",
      "api/label",
      "api/pipeline",
      "api/reference",
      "api/repository",
      "api/user",
    ],
    "api/openapi": ["access"],
    "api/ops": ["access"],
    "api/pipeline": ["access", "api/repository"],
    "api/project": ["access", "api/team"],
    "api/proof": ["api/audit"],
    "api/protection": ["access"],
    "api/reference": ["api/repository"],
    "api/registry": ["access", "api/package", "protocol/package"],
    "api/release": ["access", "api/repository"],
    "api/repository": ["access", "api/user"],
    "api/team": ["access", "api/user"],
    "api/token": ["access"],
    "api/undo": ["access", "api/audit"],
    "api/user": ["access", "api/project"],
    core: ["access", "protocol/oidc"],
    "page/account": [
      "access",
      "api/oauth",
      "api/token",
      "api/user",
      "page/core",
      "page/login",
      "protocol/ldap",
      "protocol/oidc",
      "protocol/saml",
    ],
    "page/audit": ["api/audit", "api/undo", "page/common", "page/core", "page/issue"],
    "page/cicd": [
      "api/agent",
      "api/pipeline",
      "api/user",
      "page/common",
      "page/core",
      "page/issue",
      "page/pipeline",
    ],
    "page/common": ["api/label", "api/project", "api/user", "page/core"],
    "page/core": ["access"],
    "page/issue": ["api/issue", "page/common", "page/core"],
    "page/login": ["access", "api/login", "api/user", "page/core"],
    "page/merge-request": [
      "api/merge-request",
      "api/pipeline",
      "api/repository",
      "page/common",
      "page/core",
      "page/issue",
      "page/repository",
    ],
    "page/ops": ["access", "api/agent", "api/webhook", "page/common", "page/core"],
    "page/owner": ["api/project", "api/team", "api/user", "page/common", "page/core", "page/issue"],
    "page/pipeline": [
      "api/agent",
      "api/pipeline",
      "page/cicd",
      "page/common",
      "page/core",
      "page/issue",
    ],
    "page/registry": ["api/package", "api/registry", "page/common", "page/core"],
    "page/repository": [
      "api/release",
      "api/repository",
      "page/common",
      "page/core",
      "page/pipeline",
    ],
    "protocol/git": ["access"],
    "protocol/ldap": ["access", "page/core", "page/login"],
    "protocol/lfs": ["access", "protocol/git"],
    "protocol/oauth": ["access", "api/oauth", "page/core"],
    "protocol/oci": ["access", "api/package", "protocol/package"],
    "protocol/oidc": ["access", "api/login", "page/core", "page/login"],
    "protocol/package": ["access", "api/package", "api/registry"],
    "protocol/runner": ["access", "api/agent"],
    "protocol/saml": ["access", "api/login", "page/core", "page/login"],
  },
};

/** Sections that all others of a layer may import; `core` where none is named. */
const commonSections: Readonly<Record<string, readonly string[]>> = {
  projections: ["core", "list", "progress"],
};

/** @param file, target paths below `src` */
export function isImportAllowed(file: string, target: string): boolean {
  const from = placeOf(file);
  const to = placeOf(target);
  if (to.layer === "workers" && showWorkers.has(file)) return true;
  if (from.layer !== to.layer) return layers[from.layer]?.includes(to.layer) ?? true;
  const allowed = sections[from.layer];
  if (allowed === undefined || from.section === "" || from.section === to.section) return true;
  const common = commonSections[from.layer] ?? ["core"];
  return common.includes(to.section) || (allowed[from.section]?.includes(to.section) ?? false);
}

function placeOf(file: string): Readonly<{ layer: string; section: string }> {
  const [layer = "", ...inside] = file.split(path.sep);
  const isGrouped = groups[layer]?.includes(inside[0] ?? "") ?? false;
  const folders = inside.slice(0, -1).slice(0, isGrouped ? 2 : 1);
  const isRoot = folders.length < (isGrouped ? 2 : 1);
  return { layer, section: isRoot ? "" : folders.join("/") };
}
