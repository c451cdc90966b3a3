import type { PushWishes } from "../../events/core/event.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import type { PushCommand } from "../../git/push/request.ts";
import { isStorableText, notInLine } from "../../platform/storable-text.ts";

/** What `git push -o` may request; see docs/api/repository.md. */
export type PushOptions = Readonly<{
  ciSkip: boolean;
  ciVariables: Readonly<Record<string, string>>;
  mergeRequest: PushWishes["mergeRequest"];
  /** Options that mean nothing here, as they were sent. */
  unknown: readonly string[];
  /** The push requests merge requests of too many branches: none is created. */
  tooManyBranches?: true;
  /** The push makes or moves too many refs: it starts no pipeline. */
  tooManyRefs?: true;
}>;

const variablesMax = 100;
const titleLengthMax = 255;
const refLengthMax = 255;
const shownLengthMax = 100;
const requestsMax = 10;
const pipelinesMax = 100;

type Draft = {
  ciSkip: boolean;
  ciVariables: Record<string, string>;
  creates: boolean;
  request: NonNullable<PushWishes["mergeRequest"]>;
};

/** Takes a value; false when it makes no sense, so that the option counts as unknown. */
type Taker = (draft: Draft, value: string | undefined) => boolean;

const flag =
  (set: (draft: Draft) => void): Taker =>
  (draft, value) => {
    if (value !== undefined && value !== "true" && value !== "1") return false;
    set(draft);
    return true;
  };

const takers: Readonly<Record<string, Taker>> = {
  "ci.skip": flag((draft) => {
    draft.ciSkip = true;
  }),
  "ci.variable": (draft, value = "") => {
    const [, key, text] = /^([A-Za-z_]\w{0,254})=([\s\S]*)$/.exec(value) ?? [];
    if (key === undefined || text === undefined || !isStorableText(text)) return false;
    const isNew = !Object.hasOwn(draft.ciVariables, key);
    if (isNew && Object.keys(draft.ciVariables).length === variablesMax) return false;
    draft.ciVariables[key] = text;
    return true;
  },
  "merge_request.create": flag((draft) => {
    draft.creates = true;
  }),
  "merge_request.target": (draft, value = "") => {
    if (value === "" || value.length > refLengthMax || !isStorableText(value)) return false;
    draft.request = { ...draft.request, target: value };
    return true;
  },
  "merge_request.title": (draft, value = "") => {
    const title = value.trim();
    if (title === "" || title.length > titleLengthMax || notInLine.test(title)) return false;
    if (!isStorableText(title)) return false;
    draft.request = { ...draft.request, title };
    return true;
  },
  "merge_request.draft": flag((draft) => {
    draft.request = { ...draft.request, draft: true };
  }),
  "merge_request.remove_source_branch": flag((draft) => {
    draft.request = { ...draft.request, removeSourceBranch: true };
  }),
  "merge_request.merge_when_pipeline_succeeds": flag((draft) => {
    draft.request = { ...draft.request, mergeWhenPipelineSucceeds: true };
  }),
};

/** @param options as the client sent them, `name` or `name=value` */
export function readPushOptions(options: readonly string[]): PushOptions {
  const draft: Draft = {
    ciSkip: false,
    ciVariables: {},
    creates: false,
    request: {
      target: null,
      title: null,
      draft: false,
      removeSourceBranch: null,
      mergeWhenPipelineSucceeds: false,
    },
  };
  const unknown = options.filter((option) => {
    const [, name = "", value] = /^([^=]*)(?:=([\s\S]*))?$/.exec(option) ?? [];
    const take = Object.hasOwn(takers, name) ? takers[name] : undefined;
    return take?.(draft, value) !== true;
  });
  const { ciSkip, ciVariables, creates, request } = draft;
  return { ciSkip, ciVariables, mergeRequest: creates ? request : null, unknown };
}

/** Without merge requests where the push would make too many, and without pipelines of too many refs. */
export function optionsFor(
  options: PushOptions,
  commands: readonly Pick<PushCommand, "ref" | "after">[],
): PushOptions {
  const updates = commands.filter(({ after }) => !/^0*$/.test(after ?? ""));
  const branches = updates.filter(({ ref }) => ref.startsWith(branchPrefix));
  const tags = updates.filter(({ ref }) => ref.startsWith("refs/tags/"));
  const isTooManyBranches = options.mergeRequest !== null && branches.length > requestsMax;
  const isTooManyRefs = branches.length + tags.length > pipelinesMax;
  return {
    ...options,
    ...(isTooManyBranches && { mergeRequest: null, tooManyBranches: true }),
    ...(isTooManyRefs && { ciSkip: true, tooManyRefs: true }),
  };
}

/** What the pusher reads of what has no effect; of a variable no value, which may be a secret. */
export function optionRemarks({
  unknown,
  tooManyBranches,
  tooManyRefs,
}: PushOptions): readonly string[] {
  const ignored = unknown.map((option) => {
    const name = option.startsWith("ci.variable") ? "ci.variable" : option;
    const printable = name.replaceAll(/[\p{Cc}]+/gu, " ").slice(0, shownLengthMax);
    return `The push option ${printable} is not known or not well-formed; it is ignored.`;
  });
  const tooMany = `No merge request is made: a push makes them for ${requestsMax} branches at most.`;
  const noPipeline = `No pipeline is started: a push starts them for ${pipelinesMax} branches and tags at most.`;
  return [...ignored, ...(tooManyBranches ? [tooMany] : []), ...(tooManyRefs ? [noPipeline] : [])];
}
