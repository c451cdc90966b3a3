import { slices } from "../../events/all.ts";
import type { AnyEvent, Recorded } from "../../events/core/event.ts";
import { categoryOf, idInStream } from "../../events/core/stream.ts";
import { clipText, storableText } from "../../platform/storable-text.ts";
import type { Data } from "./change.ts";

const upperSnake = (text: string): string =>
  text
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toUpperCase();

/** Slices whose file has another name than the thing of their events. */
const kindOfSlice: Readonly<Record<string, string>> = {
  "core/reservation": "NAME",
  "login/connection": "LOGIN_CONNECTION",
  "oauth/application": "OAUTH_APPLICATION",
  "oauth/authorization": "OAUTH_AUTHORIZATION",
  "package/tag": "PACKAGE",
  "package/version": "PACKAGE_VERSION",
  "pipeline/lifetime": "PIPELINE_LIFETIME",
  "pipeline/schedule": "PIPELINE_SCHEDULE",
  "pipeline/trigger": "PIPELINE_TRIGGER",
  "pipeline/variable": "PIPELINE_VARIABLE",
  "protection/protection": "PROTECTION_RULE",
  "registry/repository": "REGISTRY_REPOSITORY",
  "team/membership": "MEMBER",
  "webhook/delivery": "WEBHOOK_DELIVERY",
  "webhook/log": "WEBHOOK_LOG",
};

/** The stream of a repository has the events of its branches and tags. */
const kindOfType: Readonly<Record<string, string>> = {
  BranchCreated: "BRANCH",
  BranchUpdated: "BRANCH",
  BranchDeleted: "BRANCH",
  TagCreated: "TAG",
  TagUpdated: "TAG",
  TagDeleted: "TAG",
};

const kinds: ReadonlyMap<string, string> = new Map(
  Object.entries(slices).flatMap(([slice, schemas]) =>
    Object.keys(schemas).map((type) => {
      const file = slice.slice(slice.indexOf("/") + 1);
      return [type, kindOfType[type] ?? kindOfSlice[slice] ?? upperSnake(file)] as const;
    }),
  ),
);

/** Kinds of things that events are about: `ISSUE`, `MEMBER`, `PROTECTION_RULE`. */
export const subjectKinds: readonly string[] = [...new Set(kinds.values())].sort();

/** `OTHER` for a type that this version does not know. */
export const kindOf = (type: string): string => kinds.get(type) ?? "OTHER";

const sections: ReadonlyMap<string, string> = new Map(
  Object.entries(slices).flatMap(([slice, schemas]) =>
    Object.keys(schemas).map((type) => [type, slice.slice(0, slice.indexOf("/"))] as const),
  ),
);

/** The section that an event type is of; undefined for one that this version does not know. */
export const sectionOf = (type: string): string | undefined => sections.get(type);

/** Those of some names that no event type of this version has. */
export const unknownTypes = (names: readonly string[]): readonly string[] =>
  names.filter((name) => !kinds.has(name));

/** The event types about things of a kind. */
export const typesOfKind = (kind: string): readonly string[] =>
  [...kinds].filter(([, each]) => each === kind).map(([type]) => type);

/** In streams with events of several things: the field that names the thing. */
const idFields: Readonly<Record<string, string>> = {
  ACCESS_TOKEN: "tokenId",
  APPROVAL_RULE: "ruleId",
  BRANCH: "branch",
  GPG_KEY: "keyId",
  INVITATION: "invitationId",
  ARTIFACT: "artifactId",
  MEMBER: "userId",
  PIPELINE_VARIABLE: "variableId",
  PROTECTION_RULE: "ruleId",
  SSH_KEY: "keyId",
  TAG: "tag",
  TRANSFER_OFFER: "offerId",
};

/** Whether the stream's first event is about another thing than its later ones. */
export const sharesStream = (type: string): boolean => idFields[kindOf(type)] !== undefined;

/** Id of the thing an event is about; the name of a branch or tag. */
export function subjectId({ type, data, stream }: Recorded): string {
  const field = idFields[kindOf(type)];
  const id = field === undefined ? undefined : data[field];
  return typeof id === "string" ? indexable(id) : idInStream(stream);
}

const subjectLengthMax = 255;

/** The length of an index entry is limited: names of refs are distinguished by their first 255 characters. */
export const indexable = (id: string): string => clipText(storableText(id), subjectLengthMax);

const titleFields = ["title", "name", "alias", "branch", "tag", "tagName", "key", "template"];
const parts = ["details", "settings", "rule"];

/** What people call the thing, as far as the event says it; nothing that is sealed. */
export function titleIn(data: Data): string | null {
  for (const part of [data, ...parts.map((name) => data[name])]) {
    if (part === null || typeof part !== "object") continue;
    for (const field of titleFields) {
      const value: unknown = (part as Data)[field];
      if (typeof value === "string" && value !== "" && !value.startsWith("sealed.")) return value;
    }
  }
  return null;
}

/** Streams whose id is that of the project, team, company or account itself. */
const placeStreams = new Set([
  ...["project", "team", "company", "user", "repository", "pushCount", "mirror", "mergeSetting"],
  ...["membership", "protection", "approval", "templateSetting", "pipelineLifetime"],
  ...["pipelineVariable", "transferOffer", "holding", "sshKeyRing", "gpgKeyRing", "accessToken"],
  ...["twoFactor", "notificationPreference"],
]);

/** Bookkeeping of names: the event of the thing that took the name records what happened. */
const placeless = new Set(["NameReserved", "NameReleased"]);

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const placeFields = ["projectId", "parentId", "ownerId", "followerId", "userId", "holderId"];

/**
 * Id of the project, team, company or account that an event belongs to, as far as the event says it
 * by itself; undefined: the first event of its stream does, or nothing.
 */
export function placeNamedBy({ stream, type, data }: Recorded): string | undefined {
  if (placeless.has(type)) return undefined;
  const ids = placeStreams.has(categoryOf(stream))
    ? [idInStream(stream)]
    : [...placeFields.map((field) => data[field]), ownerOf(data)];
  return ids.find((id): id is string => typeof id === "string" && uuid.test(id));
}

const ownerOf = ({ owner }: AnyEvent["data"]): unknown =>
  owner !== null && typeof owner === "object" ? (owner as Data)["id"] : undefined;
