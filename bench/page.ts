import { browser } from "../test/support/client/browser.ts";
import { figure, median, quantile, timed } from "./figure.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * Pages against the answers of the operations that a client would call for the same, in turn. A page
 * calls them within the process, renders Markdown and escapes; its aim is 1.5 times their time.
 */
const rounds = Number(process.argv[2] ?? 200);
const things = Number(process.argv[3] ?? 200);
const warmUps = 20;
const asPage = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
const text = "It finds *nothing*, see [the code](README.md#L1).\n\n- one\n- two\n";
const project = "/project/bench/pages";
const request = `${project}/merge-request/1`;

await withService(async (bench) => {
  await bench.project("pages");
  await fill(bench);
  const person = browser(bench.service.url);
  await person.logIn({ alias: "bench", password: bench.password });
  for (const [name, page, ...answers] of [
    ["project", project, project, `${project}/blob?commitHash=main&file=README.md`],
    ["issues", `${project}/issue`, project, `${project}/issue?size=30`],
    ["issue", `${project}/issue/1`, project, `${project}/issue/1`, `${project}/issue-discussion/1`],
    [
      "merge request",
      request,
      ...[project, request, `${request}/discussions?size=50`],
      ...[`${request}/approvals`, `${request}/pipelines`],
    ],
    [
      "changes",
      `${request}/changes`,
      ...[project, request, `${request}/changes`, `${request}/discussions?size=100`],
      `${request}/changes?filePath=README.md`,
    ],
    ["commits", `${project}/commits`, project, `${project}/commits?size=30`],
    ["branches", `${project}/branch`, project, `${project}/branch?size=30`],
    ["audit", `${project}/audit`, project, `${project}/audit?size=50`],
  ] as const) {
    const times = { page: [] as number[], json: [] as number[] };
    for (let round = 0; round < rounds + warmUps; round += 1) {
      const shown = await timed(() => mustShow(person, page));
      const answered = await timed(async () => {
        for (const answer of answers) await mustAnswer(bench, answer);
      });
      if (round < warmUps) continue;
      times.page.push(shown);
      times.json.push(answered);
    }
    const baseline = { name: "JSON", value: median(times.json) };
    figure(`page of ${name}`, "ms", median(times.page), baseline);
    const slowest = { name: "JSON", value: quantile(times.json, 0.95) };
    figure(`page of ${name}, p95`, "ms", quantile(times.page, 0.95), slowest);
  }
});

async function mustShow(person: ReturnType<typeof browser>, page: string): Promise<void> {
  const { status, headers } = await person.open(page, asPage);
  const type = headers.get("content-type") ?? "";
  if (status !== 200 || !type.startsWith("text/html"))
    throw new Error(`${page}: ${status} ${type}`);
}

async function mustAnswer({ service, authorization }: BenchService, at: string): Promise<void> {
  const answer = await fetch(service.url + at, { headers: { authorization } });
  if (!answer.ok) throw new Error(`${at} answered ${answer.status}: ${await answer.text()}`);
  await answer.text();
}

async function fill(bench: BenchService): Promise<void> {
  const actions = [{ action: "CREATE", path: "README.md", content: `# Pages\n\n${text}` }];
  await post(bench, "/commit", { branch: "main", message: "Begin", actions });
  for (let number = 1; number <= things; number += 1) {
    await post(bench, "/issue", { title: `Issue ${number}`, description: text });
    if (number > 30) continue;
    await post(bench, "/issue-discussion/1/create", { note: text });
    const change = [{ action: "CREATE", path: `file-${number}.md`, content: text }];
    await post(bench, "/commit", { branch: "main", message: `Add ${number}`, actions: change });
    await post(bench, "/branch", { originBranch: "main", newBranch: `branch-${number}` });
  }
  const edit = [{ action: "UPDATE", path: "README.md", content: `# Other\n\n${text}` }];
  await post(bench, "/commit", { branch: "branch-1", message: "Edit", actions: edit });
  const branches = { sourceBranch: { id: "branch-1" }, targetBranch: { id: "main" } };
  await post(bench, "/merge-request", { title: "Edit", description: text, ...branches });
  const line = { newPath: "README.md", oldPath: "README.md", newLine: 1, oldLine: 0 };
  for (let number = 1; number <= 20; number += 1) {
    await post(bench, "/merge-request/1/discussions/create", { message: text, ...line });
  }
}

async function post({ service, authorization }: BenchService, path: string, body: object) {
  const answer = await fetch(service.url + project + path, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
}
