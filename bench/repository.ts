import type { BenchService } from "./service.ts";

/** Makes a repository of packages in a project. @returns its address for package managers */
export async function benchRepository(
  { service, authorization }: BenchService,
  project: string,
  repository: Readonly<{ repositoryName: string; packageType: string; type?: string }> & object,
): Promise<Readonly<{ base: string; id: string }>> {
  const answer = await fetch(`${service.url}/project/bench/${project}/repositories`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ type: "LOCAL", ...repository }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${repository.repositoryName}: ${text}`);
  const { repositoryUuid: id } = JSON.parse(text) as Readonly<{ repositoryUuid: string }>;
  const path = `/registry/project/bench/${project}/repository/${repository.repositoryName}`;
  return { base: service.url + path, id };
}
