import { figure, median, quantile, timed } from "./figure.ts";
import { withStoresOf } from "./inside.ts";
import { withService } from "./service.ts";
import { settled } from "./settled.ts";

/**
 * Proofs of events anywhere in a large log, against an answer for which nothing is read. The rows of the tree are
 * written straight to its tables, with hashes that are none: how long a proof takes does not depend on them.
 * `node --import tsx bench/proof.ts [events]`
 */
const events = Number(process.argv[2] ?? 10_000_000);
const rounds = 1_000;
const warmUps = 100;

await withService(async ({ service, authorization }) => {
  await withStoresOf(service, async ({ db }) => {
    // What the service still adds to the tree would get in between.
    await settled(service);
    const tables = ["log_tree_head", "log_tree_leaf", "log_tree_node"];
    for (const table of tables) await db.raw("truncate read_model.??", [table]);
    const hash = "decode(repeat(md5(n::text), 2), 'hex')";
    for (let level = 1; 2 ** level <= events; level += 1) {
      await db.raw(
        `insert into read_model.log_tree_node
         select ?, n, ${hash} from generate_series(0, ?::bigint - 1) as n`,
        [level, Math.floor(events / 2 ** level)],
      );
    }
    await db.raw(
      `insert into read_model.log_tree_leaf
       select n, n * 3, ${hash} from generate_series(0, ?::bigint - 1) as n`,
      [events],
    );
    // Nothing is added to it.
    const head = [events, events * 3];
    await db.raw("insert into read_model.log_tree_head values (true, ?, ?, '')", head);
    for (const table of tables) await db.raw("vacuum analyze read_model.??", [table]);
  });
  const send = async (path: string): Promise<void> => {
    const answer = await fetch(service.url + path, { headers: { authorization } });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  };
  const proof = () => send(`/log/proof?position=${3 * Math.floor(Math.random() * events)}`);
  for (let round = 0; round < warmUps; round += 1) {
    await proof();
    await send("/log/key");
  }
  const times = { proof: [] as number[], key: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    times.proof.push(await timed(proof));
    times.key.push(await timed(() => send("/log/key")));
  }
  for (const [name, of] of [
    ["median", median],
    ["p99", (values: readonly number[]) => quantile(values, 0.99)],
  ] as const) {
    const baseline = { name: "GET /log/key", value: of(times.key) };
    figure(`proof of ${events} events, ${name}`, "ms", of(times.proof), baseline);
  }
});
