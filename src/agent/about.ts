import { packageVersion } from "../platform/installation.ts";
import type { ExecutorName } from "./config.ts";

export const agentVersion = packageVersion;
export const userAgent = `ledgerforge-agent ${packageVersion}`;

const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };
/** As Go names it. */
export const architecture = architectures[process.arch] ?? process.arch;

/** What the agent says of itself: the service gives it no job that needs more. */
export function agentInfo(executor: ExecutorName) {
  const hasContainers = executor === "docker";
  return {
    name: "ledgerforge-agent",
    version: packageVersion,
    platform: process.platform,
    architecture,
    executor,
    shell: "bash",
    features: {
      variables: true,
      raw_variables: true,
      masking: true,
      refspecs: true,
      artifacts: true,
      artifacts_exclude: true,
      upload_multiple_artifacts: true,
      upload_raw_artifacts: true,
      cache: true,
      fallback_cache_keys: true,
      multi_build_steps: true,
      return_exit_code: true,
      cancelable: true,
      cancel_gracefully: true,
      two_phase_job_commit: true,
      trace_checksum: true,
      trace_size: true,
      ...{ image: hasContainers, image_executor_opts: hasContainers },
      ...{ services: hasContainers, service_variables: hasContainers },
      ...{ service_multiple_aliases: hasContainers, service_executor_opts: hasContainers },
    },
  };
}
