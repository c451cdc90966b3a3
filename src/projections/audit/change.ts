import type { AnyEvent } from "../../events/core/event.ts";
import { Sealed } from "../../events/core/sealed.ts";
import { settingsDefaults } from "../../events/instance/settings.ts";

/** One field as it was and as it became; undefined where there is nothing to show. */
export type Change = Readonly<{ field: string; before?: unknown; after?: unknown }>;

export type Data = Readonly<Record<string, unknown>>;

/** Shown instead of a hidden value: the kind of the value. */
export const marks = {
  personal: "«personal data»",
  secret: "«secret»",
  digest: "«digest»",
} as const;

/** Fields that the entry itself already shows. */
const shownElsewhere = /^(?:\w+ById|\w+At)$/;
/** Says which thing it is, not what the thing is like. */
const names = /(?:Id|Type)$/;
const values = /^(?:commit|object|owner)(?:Id|Type)$/;
/** Shows nothing, and still distinguishes people. */
const digests = /(?:Digests?|Hash)$/;
/** After these a thing is other than before. */
const changing =
  /(?:Changed|Configured|Edited|LifetimeSet|Moved|Reconfigured|Renewed|Replaced|Retargeted|Transferred|Updated)$/;
/** After these it is not there any more: what they say of it is what it was. */
const ending = /(?:Deleted|Removed)$/;

export const isChanging = (type: string): boolean => changing.test(type);

const isName = (field: string): boolean => names.test(field) && !values.test(field);
const isOld = (field: string): boolean => field === "before" || /^previous(?:[A-Z]|$)/.test(field);

/**
 * What the events of a stream have said, field by field. Where a stream holds several things, each has said what it
 * said by itself: kept in one object, all of them would be copied for each event.
 */
export class StreamData {
  #fields: Data = {};
  readonly #things = new Map<string, Data>();

  add({ type, data }: AnyEvent): void {
    const thing = thingOf(data);
    if (thing !== undefined) this.#things.set(thing, data);
    else if (type === "SettingsChanged") {
      const changes = { ...settingsBefore(this.#fields), ...fieldsOf(data["changes"]) };
      this.#fields = { ...this.#fields, changes };
    } else {
      const confirmed = type === "UserEmailConfirmed" && { confirmed: true };
      this.#fields = { ...this.#fields, ...data, ...confirmed };
    }
  }

  /** What was said before an event of what it is about. */
  before({ data }: Pick<AnyEvent, "data">): Data {
    const thing = thingOf(data);
    return thing === undefined ? this.#fields : (this.#things.get(thing) ?? {});
  }
}

const thingOf = ({ fileId, variableId }: Data): string | undefined => {
  if (typeof fileId === "string") return `file ${fileId}`;
  return typeof variableId === "string" ? `variable ${variableId}` : undefined;
};

/** Only what changed is said of the settings, and nothing of what they begin as. */
const settingsBefore = (before: Data): Data => ({
  ...settingsDefaults,
  ...fieldsOf(before["changes"]),
});

/**
 * What an event changed, field by field. It may say the old value itself, as `previous`,
 * `previousTitle` or `before`; of one that does not, the old value is in the events before it.
 *
 * @param before what was said in its stream before it of what it is about, see StreamData
 */
export function changesOf(type: string, data: Data, before: Data): readonly Change[] {
  const fields = detailFields(data);
  const subject = subjectOf(data, fields);
  return fields.flatMap((field): readonly Change[] => {
    const after = data[field];
    if (field === "after" || (field === "objectId" && "before" in data)) {
      return [{ field: "changed", before: data["before"], after }];
    }
    const previous = previousName(field);
    if (previous in data) return changed(field, data[previous], after);
    if (field === subject) return changed(field, data["previous"], after);
    if (ending.test(type) && !isName(field)) return [{ field, before: shown(field, after) }];
    if (!isChanging(type) || "before" in data || isName(field)) {
      return [{ field, after: shown(field, after) }];
    }
    if (type === "SettingsChanged") return changed(field, settingsBefore(before), after);
    return changed(field, before[field] ?? null, after);
  });
}

const detailFields = (data: Data): readonly string[] =>
  Object.keys(data).filter((field) => !shownElsewhere.test(field) && !isOld(field));

const previousName = (field: string): string =>
  `previous${field.charAt(0).toUpperCase()}${field.slice(1)}`;

/** Whether the old value of a field it changes stands in the events before it alone. */
export function lacksBefore({ type, data }: AnyEvent): boolean {
  if (!isChanging(type) || "before" in data) return false;
  const fields = detailFields(data);
  const subject = subjectOf(data, fields);
  return fields.some(
    (field) => field !== subject && !isName(field) && !(previousName(field) in data),
  );
}

/** Of which field `previous` is the old value: of the only one that is no name. */
function subjectOf(data: Data, fields: readonly string[]): string | undefined {
  return "previous" in data ? fields.find((field) => !isName(field)) : undefined;
}

/** One change, or one for each field of what consists of fields; none for what stayed the same. */
function changed(field: string, before: unknown, after: unknown): readonly Change[] {
  if (isFields(after)) {
    const old = fieldsOf(before);
    return Object.entries(after).flatMap(([name, value]) =>
      changed(name, old[name] ?? null, value),
    );
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  return [{ field, before: shown(field, before), after: shown(field, after) }];
}

const isFields = (value: unknown): value is Data =>
  value !== null && typeof value === "object" && !Array.isArray(value);

const fieldsOf = (value: unknown): Data => (isFields(value) ? value : {});

function shown(field: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((part) => shown(field, part));
  if (isFields(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, shown(name, part)]),
    );
  }
  if (Sealed.safeParse(value).success) return kindOfSealed(field, String(value));
  return value !== null && digests.test(field) ? marks.digest : value;
}

const secretField = /password|secret|token/i;

/** What is sealed for a person is theirs; for a project or the instance, and keys of all kinds, secret. */
const kindOfSealed = (field: string, sealed: string): string =>
  sealed.startsWith("sealed.user-") && !secretField.test(field) ? marks.personal : marks.secret;
