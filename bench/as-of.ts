import { figure, median, timed } from "./figure.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * An issue with 1,000 changes as it was in the middle of them, against the same issue as it is; the first time after
 * another issue, because the tables of the past are made once for all.
 * `node --import tsx bench/as-of.ts [changes] [rounds]`
 */
const changes = Number(process.argv[2] ?? 1_000);
const rounds = Number(process.argv[3] ?? 100);

await withService(async (bench) => {
  await bench.project("past");
  const at = `${bench.service.url}/project/bench/past/issue`;
  await ask(bench, "POST", at, { title: "0", description: "It finds nothing." });
  let middle = "";
  for (let change = 1; change <= changes; change += 1) {
    const body = { title: String(change), description: "It finds nothing." };
    const { updatedAt } = await ask(bench, "PUT", `${at}/1/edit`, body);
    if (change === Math.ceil(changes / 2)) middle = String(updatedAt);
  }
  await ask(bench, "POST", at, { title: "another", description: "It finds nothing." });
  const newest = new Date().toISOString();
  const today = async () => mustBe(await ask(bench, "GET", `${at}/1`), changes);
  const then = (asOf: string) => ask(bench, "GET", `${at}/1?asOf=${asOf}`);
  await ask(bench, "GET", `${at}/2?asOf=${newest}`);
  const first = await timed(async () => mustBe(await then(newest), changes));
  const now = await timed(today);
  figure(`issue of ${changes} changes, at first`, "ms", first, { name: "as it is", value: now });
  for (const [name, asOf] of [
    ["after half of them", middle],
    ["after all of them", newest],
  ] as const) {
    const times = { today: [] as number[], past: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      times.today.push(await timed(today));
      times.past.push(await timed(() => then(asOf)));
    }
    const baseline = { name: "as it is", value: median(times.today) };
    figure(`issue of ${changes} changes, ${name}`, "ms", median(times.past), baseline);
  }
});

function mustBe(issue: Readonly<Record<string, unknown>>, title: number) {
  if (issue["title"] !== String(title)) throw new Error(`The issue is ${issue["title"]}`);
  return issue;
}

async function ask(
  { authorization }: BenchService,
  method: string,
  url: string,
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    method,
    headers: { authorization, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}
