// Analyses the regular expressions of src that are not recorded yet and records those that are linear.
import { superLinear } from "./linear.ts";
import { isException, record, recorded } from "./linear-record.ts";
import { expressionsIn } from "./regular-expression.ts";
import { parsedSources } from "./source.ts";

const known = await recorded();
const found = expressionsIn(parsedSources());
const patterns = new Set(found.flatMap((expression) => expression.patterns));
const linear = new Set([...patterns].filter((pattern) => known.has(pattern)));
for (const pattern of patterns) {
  if (linear.has(pattern) || isException(pattern)) continue;
  const problem = await superLinear(pattern);
  if (problem === undefined) {
    linear.add(pattern);
    await record(linear);
    continue;
  }
  const places = found.filter((expression) => expression.patterns.includes(pattern));
  process.stderr.write(`${places.map(({ place }) => place).join(", ")}: ${pattern} ${problem}\n`);
  process.exitCode = 1;
}
await record(linear);
// The detector goes on running otherwise.
process.exit();
