import { z } from "zod";
import { fileBytesMax, type ReadFile, readDocument } from "./document.ts";
import { expandOwnText } from "./expand.ts";
import { name, names, oneOrMany } from "./field.ts";
import { failAt, markAt } from "./mark.ts";
import { mergeMaps } from "./merge.ts";
import { globMatcher } from "./pattern.ts";
import { type PathMatcher, Rules, ruleFor } from "./rules.ts";
import { type FileText, isMap, type Mark, newMap, type YamlMap } from "./value.ts";

const includesMax = 100;
const includedBytesMax = 2 * fileBytesMax;

/** Its text, or a sentence that says why there is none. */
export type FoundArtifact = Readonly<{ text: string }> | Readonly<{ why: string }>;

export type IncludeFacts = Readonly<{
  /** A file of the commit; undefined when there is none. */
  readFile: (path: string) => Promise<FileText | undefined>;
  /**
   * A file of another project, `owner/alias`, at a branch, tag or hash (null: its default branch).
   * Undefined when there is none, or none that the person behind the pipeline may read.
   */
  readProjectFile: (
    project: string,
    ref: string | null,
    path: string,
  ) => Promise<FileText | undefined>;
  /** All paths of the commit. */
  paths: () => Promise<readonly string[]>;
  /**
   * A file among the artifacts of a job of the parent pipeline. Only a file that a `trigger` makes may include one.
   */
  readArtifact?: (job: string, path: string) => Promise<FoundArtifact>;
}>;

const Entry = z.preprocess(
  (value) => (typeof value === "string" ? { local: value } : value),
  z.union(
    [
      z.strictObject({ local: name(1_024), rules: Rules.optional() }),
      z.strictObject({ artifact: name(1_024), job: name() }),
      z.strictObject({
        project: name(),
        file: names(includesMax),
        ref: name().nullish(),
        rules: Rules.optional(),
      }),
    ],
    { error: "It must be {local: …} or {project: …, file: …}; nothing else can be included." },
  ),
);
const Includes = oneOrMany(Entry, includesMax);

/** One file to read, and where its own local files are. */
type IncludedFile = Readonly<{ name: string; text: FileText; from: Origin }>;
type Origin = Readonly<{ project: string; ref: string | null }> | undefined;

export type Included = Readonly<{ value: YamlMap; mark: Mark; warnings: readonly string[] }>;

/**
 * Reads a file and all that it includes, and merges them: what includes wins over what it includes.
 *
 * @throws PipelineFileError
 */
export async function readWithIncludes(
  text: FileText,
  fileName: string,
  facts: IncludeFacts,
  variables: ReadonlyMap<string, string>,
  paths: PathMatcher,
): Promise<Included> {
  const reading = new Reading(facts, variables, paths);
  const value = await reading.read({ name: fileName, text, from: undefined }, [], undefined);
  return { value, mark: startOf(fileName), warnings: reading.warnings };
}

class Reading {
  readonly warnings: string[] = [];
  #files = 0;
  #bytes = 0;

  constructor(
    readonly facts: IncludeFacts,
    readonly variables: ReadonlyMap<string, string>,
    readonly paths: PathMatcher,
  ) {}

  /** The mark is that of the `include` which names the file; the main file has none. */
  async read(
    file: IncludedFile,
    chain: readonly string[],
    includedAt: Mark | undefined,
  ): Promise<YamlMap> {
    this.#count(file, includedAt);
    const document = readDocument(file.text, file.name);
    this.warnings.push(...document.warnings);
    const own = mapOf(document);
    let merged = newMap();
    // What is included includes no artifacts in turn, as in GitLab.
    const ofArtifacts = chain.length === 0 ? this.facts.readArtifact : undefined;
    for (const included of await this.#includedBy(own, document.mark, file.from, ofArtifacts)) {
      const mark = markAt(own, ["include"], document.mark);
      if (chain.includes(included.name) || included.name === file.name) {
        failAt(mark, "include", `${included.name} includes itself.`);
      }
      merged = mergeMaps(merged, await this.read(included, [...chain, file.name], mark));
    }
    const whole = mergeMaps(merged, own);
    delete whole["include"];
    return whole;
  }

  #count({ text }: IncludedFile, includedAt: Mark | undefined): void {
    this.#files += 1;
    this.#bytes += typeof text === "string" ? Buffer.byteLength(text) : text.bytesMax;
    if (includedAt !== undefined && this.#files > includesMax + 1) {
      failAt(includedAt, "include", `More than ${includesMax} files are included.`);
    }
    if (includedAt !== undefined && this.#bytes > includedBytesMax) {
      failAt(includedAt, "include", `The files hold more than ${includedBytesMax} bytes together.`);
    }
  }

  async #includedBy(
    own: YamlMap,
    root: Mark,
    from: Origin,
    ofArtifacts: IncludeFacts["readArtifact"],
  ): Promise<readonly IncludedFile[]> {
    if (own["include"] === undefined || own["include"] === null) return [];
    const checked = Includes.safeParse(own["include"]);
    const mark = markAt(own, ["include"], root);
    if (!checked.success) {
      const [issue] = checked.error.issues;
      const at = markAt(own, ["include", ...(issue?.path ?? [])], root);
      return failAt(at, "include", issue?.message ?? "It is malformed.");
    }
    const files: IncludedFile[] = [];
    for (const entry of checked.data) {
      if ("artifact" in entry) {
        files.push(await this.#artifact(entry, ofArtifacts, mark));
        continue;
      }
      if (entry.rules !== undefined) {
        const rule = await ruleFor(entry.rules, this.variables, this.paths);
        if (rule === undefined || rule.when === "never") continue;
      }
      const isLocal = "local" in entry;
      files.push(
        ...(isLocal ? await this.#local(entry.local, from, mark) : await this.#other(entry, mark)),
      );
    }
    return files;
  }

  async #local(written: string, from: Origin, mark: Mark): Promise<readonly IncludedFile[]> {
    const path = this.#expand(written).replace(/^\//, "");
    if (/^https?:/.test(path)) failAt(mark, "include", "Files of other servers are not included.");
    if (from !== undefined) return [await this.#fromProject(from, path, mark)];
    if (!/[*?]/.test(path)) return [await this.#fromCommit(path, mark)];
    const matches = globMatcher(path, { deep: true });
    const found = (await this.facts.paths()).filter((each) => matches?.(each) === true);
    if (found.length > includesMax) {
      failAt(mark, "include", `${path} names more than ${includesMax} files.`);
    }
    return Promise.all(found.map((each) => this.#fromCommit(each, mark)));
  }

  async #fromCommit(path: string, mark: Mark): Promise<IncludedFile> {
    const content = await this.facts.readFile(path);
    if (content === undefined) failAt(mark, "include", `There is no file ${path}.`);
    return { name: path, text: content, from: undefined };
  }

  async #artifact(
    { artifact, job }: Readonly<{ artifact: string; job: string }>,
    read: IncludeFacts["readArtifact"],
    mark: Mark,
  ): Promise<IncludedFile> {
    if (read === undefined) {
      failAt(mark, "include", "Artifacts are included by `trigger: include` alone.");
    }
    const [path, from] = [this.#expand(artifact).replace(/^\.?\//, ""), this.#expand(job)];
    const found = await read(from, path);
    if ("why" in found) failAt(mark, "include", found.why);
    return { name: `${from}: ${path}`, text: found.text, from: undefined };
  }

  #other({ project, file, ref }: OtherProject, mark: Mark): Promise<readonly IncludedFile[]> {
    const from = { project: this.#expand(project), ref: ref ? this.#expand(ref) : null };
    return Promise.all(
      file.map((path) => this.#fromProject(from, this.#expand(path).replace(/^\//, ""), mark)),
    );
  }

  async #fromProject(from: NonNullable<Origin>, path: string, mark: Mark): Promise<IncludedFile> {
    const content = await this.facts.readProjectFile(from.project, from.ref, path);
    if (content === undefined) {
      failAt(mark, "include", `There is no file ${path} in ${from.project} that may be read.`);
    }
    return { name: `${from.project}/${path}`, text: content, from };
  }

  #expand(written: string): string {
    return expandOwnText(written, (key) => this.variables.get(key));
  }
}

type OtherProject = Readonly<{
  project: string;
  file: readonly string[];
  ref?: string | null | undefined;
}>;

/** The start of the main file, for mistakes of the pipeline as a whole. */
export function startOf(fileName: string): Mark {
  return readDocument("", fileName).mark;
}

function mapOf({ value, mark }: ReadFile): YamlMap {
  if (value === null) return newMap();
  if (!isMap(value)) return failAt(mark, "", "The file must be a map of keywords and jobs.");
  return value;
}
