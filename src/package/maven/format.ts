import { badName, type PackageName } from "../core/coordinates.ts";

/** As Maven validates ids; no part of a group is empty. */
const idForm = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
/** `1.0-20261121.120000-3` is a build of `1.0-SNAPSHOT`. */
const snapshotForm = /^(.*)-\d{8}\.\d{6}-\d+$/;

/** Case counts. @throws Refusal 422 */
export function mavenName(groupId: string, artifactId: string): PackageName {
  if (!idForm.test(groupId) || !idForm.test(artifactId)) {
    throw badName("Group and artifact are letters, digits, dashes and underscores between dots.");
  }
  const name = `${groupId}:${artifactId}`;
  return { name, groupId, artifactId, key: name };
}

/** The version that builds of it are snapshots of; any other version is its own base. */
export function mavenBaseVersion(version: string): string {
  return version.replace(snapshotForm, "$1-SNAPSHOT");
}
