import { agentNumber } from "../../../events/agent/agent.ts";
import { JobFailureReason } from "../../../events/pipeline/job.ts";
import type { JobImage, JobSpec } from "../../../events/pipeline/job-spec.ts";
import type { AgentRow } from "../../../projections/agent/agent.ts";
import { timeoutOf } from "../../../services/agent/timeout.ts";
import type { JobPayload } from "../../../services/pipeline/payload.ts";
import { cachesOf, cacheVariables } from "./job-cache.ts";

/** A number for an id where the protocol wants one: the first 52 bits, for names of folders only. */
const numberOf = (id: string): number => Number.parseInt(id.replaceAll("-", "").slice(0, 13), 16);

export type JobAnswer = Readonly<Record<string, unknown>>;

type JobAnswerInput = Readonly<{
  payload: JobPayload;
  token: string;
  agent: Pick<AgentRow, "id" | "name" | "tags" | "max_timeout_seconds">;
  /** Of artifacts of earlier jobs. */
  dependencies: readonly Readonly<{
    number: number;
    name: string;
    fileName: string;
    bytes: number;
  }>[];
  publicUrl: string;
}>;

/** The job in the words of the protocol; what is unused is left out. */
export function jobAnswer({
  payload,
  token,
  agent,
  dependencies,
  publicUrl,
}: JobAnswerInput): JobAnswer {
  const { spec, project, number, pipelineNumber, job } = payload;
  const timeout = timeoutOf(spec, agent.max_timeout_seconds);
  return {
    id: number,
    token,
    allow_git_fetch: true,
    job_info: {
      name: spec.name,
      stage: spec.stage,
      project_name: project.alias,
      project_full_path: `${project.owner_alias}/${project.alias}`,
      pipeline_id: pipelineNumber,
      project_id: numberOf(project.id),
      time_in_queue_seconds: Math.max(0, secondsBetween(job.queued_at, job.assigned_at)),
    },
    git_info: gitInfo(payload, token),
    runner_info: { timeout, uuid: agent.id },
    variables: [...ofAgent(agent), ...cacheVariables(payload), repositoryUrl(payload, token)],
    steps: payload.steps.map(({ name, script, when }) => ({
      name,
      script,
      timeout,
      when,
      allow_failure: when === "always",
    })),
    ...(spec.image && { image: imageOf(spec.image) }),
    services: spec.services.map((service) => ({
      ...imageOf(service),
      ...(service.alias && { alias: service.alias }),
      ...(service.command && { command: service.command }),
      ...(service.variables && { variables: variablesOf(service.variables) }),
    })),
    artifacts: artifactsOf(spec),
    cache: cachesOf(payload),
    credentials: [{ type: "registry", url: new URL(publicUrl).host, username, password: token }],
    dependencies: dependencies.map(({ number: id, name, fileName: filename, bytes: size }) => ({
      ...{ id, name, token },
      artifacts_file: { filename, size },
    })),
    features: { trace_sections: true, failure_reasons: JobFailureReason.options },
    ...(spec.preGetSources.length > 0 && {
      hooks: [{ name: "pre_get_sources_script", script: spec.preGetSources }],
    }),
  };
}

const username = "gitlab-ci-token";

const secondsBetween = (from: Date | null, to: Date | null): number =>
  from === null || to === null ? 0 : (to.getTime() - from.getTime()) / 1_000;

function urlWithToken(url: string, token: string): string {
  const withToken = new URL(url);
  withToken.username = username;
  withToken.password = token;
  return withToken.href;
}

function gitInfo({ git, isProtected }: JobPayload, token: string) {
  return {
    repo_url: urlWithToken(git.url, token),
    ref: git.ref,
    sha: git.sha,
    before_sha: git.beforeSha ?? "0".repeat(git.sha.length),
    ref_type: git.refType,
    refspecs: git.refspecs,
    depth: git.depth,
    protected: isProtected,
  };
}

function repositoryUrl({ git }: JobPayload, token: string) {
  const value = urlWithToken(git.url, token);
  return { key: "CI_REPOSITORY_URL", value, public: false, masked: true, file: false, raw: true };
}

function ofAgent({ id, name, tags }: JobAnswerInput["agent"]) {
  const flags = { public: true, masked: false, file: false, raw: true };
  return [
    { key: "CI_RUNNER_ID", value: String(agentNumber(id)), ...flags },
    { key: "CI_RUNNER_DESCRIPTION", value: name, ...flags },
    { key: "CI_RUNNER_TAGS", value: JSON.stringify(tags), ...flags },
  ];
}

function imageOf({ name, entrypoint, pullPolicy, platform, user }: JobImage) {
  const docker = { ...(platform && { platform }), ...(user && { user }) };
  return {
    name,
    ...(entrypoint && { entrypoint }),
    ...(pullPolicy && { pull_policy: pullPolicy }),
    ...(Object.keys(docker).length > 0 && { executor_opts: { docker } }),
  };
}

const variablesOf = (variables: Readonly<Record<string, string>>) =>
  Object.entries(variables).map(([key, value]) => ({ key, value, public: true, raw: false }));

/** Reports that are sent as they are; the others are packed with gzip. */
const packedReports: ReadonlySet<string> = new Set([
  ...["junit", "dotenv", "cobertura", "jacoco", "cyclonedx"],
]);

const reportNames: Readonly<Record<string, string>> = {
  junit: "junit.xml",
  dotenv: ".env",
  cobertura: "cobertura-coverage.xml",
  jacoco: "jacoco.xml",
};

function artifactsOf({ artifacts }: JobSpec) {
  if (artifacts === null) return [];
  const { name, paths, exclude, untracked, when, expireIn } = artifacts;
  const expiry = expireIn === null ? {} : { expire_in: expireIn };
  const kind = { artifact_type: "archive", artifact_format: "zip" };
  const archive = {
    name: name ?? "artifacts",
    untracked,
    paths,
    exclude,
    when,
    ...kind,
    ...expiry,
  };
  const reports = Object.entries(artifacts.reports).map(([type, files]) => ({
    name: reportNames[type] ?? `${type}.json`,
    paths: files,
    when: "always",
    artifact_type: type,
    artifact_format: packedReports.has(type) ? "gzip" : "raw",
    ...expiry,
  }));
  return [...(paths.length > 0 || untracked ? [archive] : []), ...reports];
}

/** What an agent must be able to do, in names of the protocol, and the jobs that need it. */
const needs: readonly (readonly [feature: string, by: (spec: JobSpec) => boolean])[] = [
  [
    "upload_multiple_artifacts",
    ({ artifacts }) => artifacts !== null && Object.keys(artifacts.reports).length > 0,
  ],
  ["artifacts_exclude", ({ artifacts }) => artifacts !== null && artifacts.exclude.length > 0],
  ["return_exit_code", ({ allowFailure }) => allowFailure.exitCodes.length > 0],
  ["multi_build_steps", ({ release }) => release !== null],
  ["fallback_cache_keys", ({ cache }) => cache.some((it) => it.fallbackKeys.length > 0)],
];

/** All that a job may need. */
export const neededFeatures: ReadonlySet<string> = new Set(needs.map(([feature]) => feature));

export function featuresNeeded(spec: JobSpec): readonly string[] {
  return needs.filter(([, by]) => by(spec)).map(([feature]) => feature);
}
