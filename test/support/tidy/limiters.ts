import { codeOf } from "./code-of.ts";

/** Packages that bound what runs at once. */
const packages =
  /\bfrom "(?:p-(?:limit|queue|throttle|all|map)|async-(?:mutex|sema|lock)|bottleneck|generic-pool|semaphore[\w-]*)"/;
const named =
  /\bclass \w*(?:Limiter|Limit|Share|Slots|Seats|Budget|Semaphore|Permits|Mutex|Pool)\b/;

/**
 * What in a source file bounds how much is held at once without `Limit`: a count that goes up and down, a map of
 * such counts, a collection that is compared with a maximum and shrinks again, a queue of functions that resolve
 * promises, a class with such a name, a package.
 */
export function limitersIn(source: string): readonly string[] {
  const code = codeOf(source);
  const found = [...countsIn(code), ...sizesIn(code), ...queuesIn(code)];
  if (named.test(code)) found.push("a class by the name of a limiter");
  if (packages.test(source)) found.push("a package of limiters");
  return found;
}

/** Files of `src` with what looks like a limiter of their own, and why it is no `Limit`. */
export const limitersElsewhere: Readonly<Record<string, string>> = {
  "agent/run.ts": "the agent has one caller",
  "commands/core/local-id.ts": "numbers requests in their order",
  "commands/pipeline/variable.ts": "a bound of what is stored",
  "embedded/event-store/batch-append-service.ts": "counts what is not answered before it ends",
  "embedded/event-store/order-queue.ts": "the store has one caller in each role",
  "embedded/event-store/tail.ts": "cuts a cache",
  "git/object/cat-file-pool.ts": "keeps processes, each of which answers many callers at once",
  "git/object/cat-file.ts": "answers come in the order of the questions",
  "git/pack-cache.ts": "cuts a cache, and removes files after their last reader",
  "git/priority.ts": "decides about a priority",
  "http/api/feed/hub.ts": "cuts a cache",
  "http/core/json-limits.ts": "depth of a document",
  "http/page/pipeline/log.ts": "depth of a document",
  "http/protocol/package/core/response-budget.ts": "counts once what several answers share",
  "http/protocol/package/proxy/shared-download.ts": "removes a file after its last reader",
  "http/protocol/runner/queue.ts": "lets the oldest request go, and holds the others by Limit",
  "package/conda/bit-reader.ts": "bits that are left",
  "package/conda/grammar.ts": "depth of a document",
  "package/pypi/grammar.ts": "depth of a document",
  "pipeline-file/expand.ts": "depth of a document",
  "pipeline-file/pattern.ts": "depth of a pattern",
  "platform/identity/directory-message.ts": "bytes of a message",
  "platform/identity/directory.ts": "depth of a document",
  "platform/limit.ts": "Limit",
  "platform/parser/parser.ts": "keeps processes; Limit bounds their tasks",
  "projections/core/batch.ts": "collects a batch of one reader",
  "services/merge-request/follow-line.ts": "an offset",
  "workers/core/channel.ts": "a buffer between one writer and one reader",
  "workers/core/reactor-loop.ts": "collects a batch of one reader",
};

const lastName = (path: string): string => path.replaceAll(/^.*[.#]/g, "");

function countsIn(code: string): readonly string[] {
  const names = (pattern: RegExp) =>
    new Set(
      [...code.matchAll(pattern)].map(([, before, after]) => lastName(before ?? after ?? "")),
    );
  const up = names(/([\w.#]+)(?: \+= |\+\+)|\+\+([\w.#]+)/g);
  const down = names(/([\w.#]+)(?: -= |--)|--([\w.#]+)/g);
  const found = [...up].filter((name) => down.has(name)).map((name) => `counts ${name}`);
  const isOfMaps = /\.set\([^;]*\+ 1\b/.test(code) && /\?\? [01]\)? - 1\b/.test(code);
  return isOfMaps ? [...found, "counts by key"] : found;
}

function sizesIn(code: string): readonly string[] {
  const compared = code.matchAll(/([\w#]+)\.(?:size|length) (?:>=?|<=?) (?!\d)/g);
  return [...new Set([...compared].map(([, name = ""]) => name))]
    .filter((name) => code.includes(`${name}.delete(`) || code.includes(`${name}.splice(`))
    .map((name) => `compares the size of ${name}`);
}

function queuesIn(code: string): readonly string[] {
  const resolvers = code.matchAll(/new Promise(?:<[^(]*>)?\(\(?(\w+)/g);
  return [...new Set([...resolvers].map(([, name = ""]) => name))]
    .filter((name) => new RegExp(`\\.(?:push|unshift)\\([^;]*\\b${name}\\b`).test(code))
    .map((name) => `queues ${name}`);
}
