import { kindOf, sectionOf } from "../../../projections/audit/subject.ts";

const system = "The service did this by itself as part of something else: undo that.";
const account = "It concerns the security of an account, which only its owner changes.";
const past = "It happened outside of what the service can take back.";
const progress = "Pipelines and jobs run forward only: start, cancel or restart them.";
const unrecoverable = "What was deleted held what cannot be made again.";
const final = "This ends it for good.";
const decision = "It is the decision of a person: only they take it back, at its own place.";
const stored = "Stored files and packages are deleted or restored at their own place.";

/** By kind of thing, for all events of that kind that have no inverse and no reason of their own. */
const reasonsOfKinds: Readonly<Record<string, string>> = {
  SESSION: account,
  TWO_FACTOR: account,
  ACCESS_TOKEN: account,
  SSH_KEY: account,
  GPG_KEY: account,
  USER: account,
  RECOVERY: account,
  LOGIN_CONNECTION: "Connections for logging in are administered at /admin.",
  EXTERNAL_IDENTITY: account,
  OAUTH_APPLICATION: account,
  OAUTH_AUTHORIZATION: account,
  NOTIFICATION_PREFERENCE: decision,
  FOLLOW: decision,
  AGENT: "Agents hold their tokens themselves: change or register them at their own place.",
  REGISTRATION: "A registration token that was issued anew cannot be the former one again.",
  ARTIFACT: stored,
  LOCAL_ID: system,
  NAME: system,
  HOLDING: system,
  CHILD_CLAIM: system,
  LFS_LOCK: "Locks of files are taken and given back by git-lfs.",
  LFS_OBJECT: stored,
  REPORT: decision,
  SETTINGS: "Settings of the instance are changed at /admin/settings.",
  MERGE_REQUEST: "Merging and approving are decisions that are not taken back by others.",
  PACKAGE: stored,
  PACKAGE_VERSION: stored,
  COMMIT_STATUS: past,
  JOB: progress,
  PIPELINE: progress,
  PIPELINE_SCHEDULE: "Schedules run with the rights of their owner, who makes them again.",
  PIPELINE_TRIGGER: unrecoverable,
  MIRROR: "The token of a removed mirror is not kept: configure it again.",
  PROJECT: "It ends or moves the project: see its own operations (restore, transfer).",
  UPLOADED_FILE: stored,
  PROTECTION_RULE: "Rules that were applied below are changed where they apply.",
  COMMIT_REFERENCE: system,
  REGISTRY_REPOSITORY: stored,
  RELEASE: unrecoverable,
  REPOSITORY: past,
  BRANCH: "Commits were pushed: revert them, or push again.",
  TAG: "The tag was pushed anew: push it again.",
  COMPANY: final,
  TEAM: "It ends or moves the team: see its own operations.",
  TRANSFER_OFFER: decision,
  INVITATION: "An invitation is a link that was sent: invite again.",
  MAIL: system,
  PUSH_COUNT: system,
  WEBHOOK_DELIVERY: past,
  WEBHOOK_LOG: system,
  WEBHOOK: "It is switched on by changing it, and off by failing.",
  ISSUE: "A deleted issue's number is never used again, and its comments are gone.",
};

/** Of what else the events of a section record. */
const reasonsOfSections: Readonly<Record<string, string>> = {
  access: account,
  login: account,
  oauth: account,
  token: account,
  user: account,
  agent: progress,
  pipeline: progress,
  package: stored,
  registry: stored,
  core: system,
};

/** Why an event has no opposite; undefined: nobody has said yet. */
export const reasonFor = (type: string): string | undefined =>
  reasonsOfKinds[kindOf(type)] ?? reasonsOfSections[sectionOf(type) ?? ""];
