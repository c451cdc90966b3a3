import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";

import { idInStream } from "../../../events/core/stream.ts";
import { LabelDetails } from "../../../events/label/label.ts";
import { lifetimeDaysDefault } from "../../../events/pipeline/lifetime.ts";
import { ReleaseDetails } from "../../../events/release/release.ts";
import type { Data } from "../../../projections/audit/change.ts";
import { type Inverse, impossible, type Undone } from "./operation.ts";
import { tagBefore } from "./tag.ts";
import {
  aliasOf,
  changedLists,
  issueNumber,
  opened,
  ownIssueNumber,
  partOf,
  requestNumber,
} from "./thing.ts";

const own = ({ event }: Undone): string => idInStream(event.stream);

const approvalBody = (rule: Data) => {
  const { targetBranch, name, minimalApprovals, allowedApproverIds } = rule;
  return { targetBranch, name, minimalApprovals, allowedApproversUuid: allowedApproverIds };
};

const protectionNouns: Readonly<Record<string, readonly [noun: string, field: string]>> = {
  TAG: ["TagProtection", "tag"],
  BRANCH: ["BranchProtection", "branch"],
  ENVIRONMENT: ["EnvironmentProtection", "environment"],
};

/** The operation on a protection rule, and the rule as its body. */
function protection(verb: "create" | "edit" | "delete", rule: Data, { ownerScope, data }: Undone) {
  const { kind, template, ...levels } = rule;
  const [noun, field] = protectionNouns[String(kind)] ?? ["", ""];
  const operationId = `${verb}${ownerScope.noun}${noun}`;
  const uuid = data["ruleId"];
  if (verb === "delete") return { operationId, params: { [`${field}ProtectionUuid`]: uuid } };
  if (verb === "edit") return { operationId, body: { uuid, ...levels } };
  const body = { [`${field}Template`]: template, ...levels };
  return { operationId, body, makes: "ProtectionRuleCreated" };
}

async function webhookBody(undone: Undone) {
  const { url, secret, topics } = await undone.before();
  const flags = (Array.isArray(topics) ? topics : []).map((topic) => [String(topic), true]);
  const stays = undone.data["secret"] === secret;
  const former = !stays && { secret: await opened(undone, secret) };
  return { url, ...former, events: Object.fromEntries(flags) };
}

async function variableBody(undone: Undone) {
  const { key, value, environmentScope, masked, kind, description, ...rest } = partOf(
    await undone.before(),
    "settings",
  );
  const stays = partOf(undone.data, "settings")["value"] === value;
  const former = !stays && { value: await opened(undone, value) };
  const fields = { key, ...former, environmentScope, mask: masked, description, type: kind };
  return { ...fields, protected: rest["protected"] };
}

/** The thing as it was before it was edited: an edit has only what it changed. */
const unedited = async (undone: Undone): Promise<Data> => ({
  ...(await undone.before()),
  ...partOf(undone.data, "previousDetails"),
});

/** The fields of a thing as it was, named in the request as in the event; one that was left out is taken away again. */
async function uneditedFields(undone: Undone, fields: z.ZodObject): Promise<Data> {
  const before = await unedited(undone);
  return Object.fromEntries(Object.keys(fields.shape).map((name) => [name, before[name] ?? null]));
}

async function issueBody(undone: Undone): Promise<Data> {
  const { title, description } = await unedited(undone);
  const previous = partOf(undone.data, "previousDetails");
  const status = previous["status"] ?? undone.data["previousStatus"];
  return {
    ...{ title, description },
    ...(status !== undefined && { status: { id: status } }),
    ...(await changedLists(undone, { assigneeIds: "assignedUsers" }, previous)),
  };
}

const uneditIssue: Inverse = async (undone) => ({
  operationId: "editIssue",
  params: { localId: await ownIssueNumber(undone) },
  body: await issueBody(undone),
});

const requestLists = {
  assignedUserIds: "assignedUsers",
  reviewerIds: "reviewers",
} as const;

/** An edit leaves the description out of both sides where it stays, and nothing else. */
async function requestBody(undone: Undone): Promise<Data> {
  const { data } = undone;
  const [details, previous] = [partOf(data, "details"), partOf(data, "previousDetails")];
  const { title, description, removeSourceBranch, squashCommit, workInProgress } = previous;
  const changed = Object.entries(previous).filter(
    ([field, value]) => !isDeepStrictEqual(value, details[field]),
  );
  return {
    ...{ title, description, removeSourceBranch, squashCommit, workInProgress },
    ...(await changedLists(undone, requestLists, Object.fromEntries(changed))),
  };
}

const detailsBody = (previous: Data): Data => {
  const { private: isPrivate, contactPhone: _, contactEmail: __, ...rest } = previous;
  return { ...rest, isPrivate };
};

const note = async (undone: Undone) => ({
  localId: await requestNumber(undone, undone.data["mergeRequestId"]),
});

const ofRequest =
  (operationId: string): Inverse =>
  async (undone) => ({
    operationId,
    params: { localId: await requestNumber(undone, own(undone)) },
  });

const ofDiscussion =
  (operationId: string): Inverse =>
  async (undone) => {
    const { mergeRequestId } = await undone.before();
    const localId = await requestNumber(undone, mergeRequestId);
    return { operationId, params: { localId, discussionUuid: own(undone) } };
  };

const comment = async (undone: Undone) => ({
  localId: await issueNumber(undone, undone.data["issueId"]),
});

/** Sets one field to what the event says that it was. */
const sets =
  (operationId: string, field: string, former: string): Inverse =>
  ({ data }) => ({ operationId, body: { [field]: data[former] } });

/** Sends the fields as the event says that they were. */
const restores =
  (operationId: string, former: string, bodyOf = (previous: Data): Data => previous): Inverse =>
  ({ data }) => ({ operationId, body: bodyOf(partOf(data, former)) });

/** Removes what the event made, by the id of its stream. */
const removes =
  (operationId: string, param: string): Inverse =>
  (undone) => ({ operationId, params: { [param]: own(undone) } });

/** The opposite of each event that has one, by the operation that a client would request. */
export const inverses: Readonly<Record<string, Inverse>> = {
  MemberAdded: async (undone) => ({
    operationId: `remove${undone.ownerScope.noun}Member`,
    params: { userAlias: await aliasOf(undone, undone.data["userId"]) },
  }),
  MemberRoleChanged: async (undone) => ({
    operationId: `change${undone.ownerScope.noun}MemberRole`,
    body: {
      userAlias: await aliasOf(undone, undone.data["userId"]),
      role: undone.data["previousRole"],
    },
  }),
  MemberRemoved: async (undone) => ({
    operationId: `invite${undone.ownerScope.noun}Member`,
    body: { userAlias: await aliasOf(undone, undone.data["userId"]), role: undone.data["role"] },
  }),
  InvitationMade: ({ data, ownerScope }) => ({
    operationId: `revoke${ownerScope.noun}Invitation`,
    params: { invitationUuid: data["invitationId"] },
  }),

  ProjectDetailsChanged: restores("changeProjectSettings", "previous"),
  ProjectVisibilityChanged: sets("changeProjectVisibility", "isPrivate", "previous"),
  ProjectAliasChanged: sets("changeProjectAlias", "alias", "previousAlias"),
  ProjectDefaultBranchChanged: sets("changeDefaultBranch", "branchName", "previousBranch"),
  ProjectRestored: removes("deleteProject", "projectUuid"),
  MergeSettingsChanged: restores("changeMergeSettings", "previousSettings"),
  MergeMessagesChanged: restores("changeMergeMessages", "previousMessages"),
  TeamDetailsChanged: restores("changeTeam", "previous", detailsBody),
  TeamAliasChanged: sets("changeTeam", "alias", "previousAlias"),
  CompanyDetailsChanged: restores("changeCompany", "previous", detailsBody),
  CompanyAliasChanged: sets("changeCompany", "alias", "previousAlias"),
  TemplateSettingsChanged: ({ data, ownerScope }) => ({
    operationId: `change${ownerScope.noun}TemplateSettings`,
    body: partOf(data, "previous"),
  }),

  BranchCreated: ({ data }) => ({
    operationId: "deleteBranch",
    query: { branchName: data["branch"] },
  }),
  BranchDeleted: ({ data }) => ({
    operationId: "createBranch",
    body: { newBranch: data["branch"], originBranch: data["commitId"] },
  }),
  TagCreated: ({ data }) => ({ operationId: "deleteTag", params: { tagName: data["tag"] } }),
  TagDeleted: async (undone) => {
    const { lightWeight, commitId } = await tagBefore(undone);
    if (lightWeight !== true) {
      throw impossible("The message and the signature of the tag are gone: push it again.");
    }
    return { operationId: "createTag", body: { tagName: undone.data["tag"], commitId } };
  },

  ProtectionRuleCreated: (undone) => protection("delete", partOf(undone.data, "rule"), undone),
  ProtectionRuleEdited: (undone) => protection("edit", partOf(undone.data, "previous"), undone),
  ProtectionRuleDeleted: (undone) => protection("create", partOf(undone.data, "rule"), undone),
  ApprovalRuleCreated: ({ data, ownerScope }) => ({
    operationId: `delete${ownerScope.noun}ApprovalRule`,
    params: { approvalRuleUuid: data["ruleId"] },
  }),
  ApprovalRuleEdited: ({ data, ownerScope }) => ({
    operationId: `edit${ownerScope.noun}ApprovalRule`,
    body: { uuid: data["ruleId"], ...approvalBody(partOf(data, "previous")) },
  }),
  ApprovalRuleDeleted: ({ data, ownerScope }) => ({
    operationId: `create${ownerScope.noun}ApprovalRule`,
    body: approvalBody(partOf(data, "rule")),
    makes: "ApprovalRuleCreated",
  }),
  ApprovalConfigurationChanged: ({ data, ownerScope }) => ({
    operationId: `edit${ownerScope.noun}ApprovalConfiguration`,
    body: partOf(data, "previous"),
  }),

  LabelCreated: removes("deleteLabel", "labelUuid"),
  LabelEdited: async (undone) => ({
    operationId: "editLabel",
    params: { labelUuid: own(undone) },
    body: await uneditedFields(undone, LabelDetails),
  }),
  LabelDeleted: async (undone) => ({
    operationId: "createLabel",
    body: await uneditedFields(undone, LabelDetails),
    makes: "LabelCreated",
  }),

  IssueCreated: async (undone) => ({
    operationId: "deleteIssue",
    params: { localId: await ownIssueNumber(undone) },
  }),
  IssueEdited: uneditIssue,
  IssueClosedByCommit: uneditIssue,
  IssueCommentCreated: async (undone) => ({
    operationId: "deleteIssueComment",
    params: { ...(await comment(undone)), commentId: own(undone) },
  }),
  IssueCommentEdited: async (undone) => ({
    operationId: "editIssueComment",
    params: { ...(await comment(undone)), commentId: own(undone) },
    body: { note: undone.data["previousMessage"] },
  }),
  IssueCommentDeleted: async (undone) => ({
    operationId: "createIssueComment",
    params: await comment(undone),
    body: { note: undone.data["message"] },
    makes: "IssueCommentCreated",
  }),

  MergeRequestEdited: async (undone) => ({
    ...(await ofRequest("editMergeRequest")(undone)),
    body: await requestBody(undone),
  }),
  MergeRequestRetargeted: async (undone) => ({
    ...(await ofRequest("editMergeRequest")(undone)),
    body: { targetBranch: { id: undone.data["previousTargetBranch"] } },
  }),
  MergeRequestClosed: ofRequest("reopenMergeRequest"),
  MergeRequestReopened: ofRequest("closeMergeRequest"),
  MergeRequestAutoMergeSet: ofRequest("stopAutoMerge"),
  DiscussionStarted: async (undone) => ({
    operationId: "deleteDiscussionNote",
    params: { ...(await note(undone)), noteUuid: undone.data["discussionId"] },
  }),
  DiscussionReplied: async (undone) => ({
    operationId: "deleteDiscussionNote",
    params: { ...(await note(undone)), noteUuid: undone.data["noteId"] },
  }),
  DiscussionNoteEdited: async (undone) => ({
    operationId: "editDiscussionNote",
    params: { ...(await note(undone)), noteUuid: undone.data["noteId"] },
    body: { message: undone.data["previousMessage"] },
  }),
  DiscussionNoteDeleted: async (undone) => {
    if (undone.data["noteId"] === own(undone)) {
      throw impossible("The whole discussion was deleted: start another.");
    }
    const body = { discussionUuid: own(undone), message: undone.data["message"] };
    const params = await note(undone);
    return { operationId: "replyToDiscussion", params, body, makes: "DiscussionReplied" };
  },
  DiscussionResolved: ofDiscussion("unresolveDiscussion"),
  DiscussionUnresolved: ofDiscussion("resolveDiscussion"),

  ReleaseCreated: removes("deleteRelease", "releaseUuid"),
  ReleaseEdited: async (undone) => ({
    operationId: "editRelease",
    params: { releaseUuid: own(undone) },
    body: await uneditedFields(undone, ReleaseDetails),
  }),

  WebhookCreated: removes("deleteWebhook", "id"),
  WebhookReconfigured: async (undone) => ({
    operationId: "changeWebhook",
    params: { id: own(undone) },
    body: await webhookBody(undone),
  }),
  WebhookDeleted: async (undone) => ({
    operationId: "createWebhook",
    body: await webhookBody(undone),
    makes: "WebhookCreated",
  }),

  PipelineVariableCreated: ({ data, ownerScope }) => ({
    operationId: `delete${ownerScope.noun}PipelineVariable`,
    params: { id: data["variableId"] },
  }),
  PipelineVariableChanged: async (undone) => ({
    operationId: `change${undone.ownerScope.noun}PipelineVariable`,
    params: { id: undone.data["variableId"] },
    body: await variableBody(undone),
  }),
  PipelineVariableDeleted: async (undone) => ({
    operationId: `create${undone.ownerScope.noun}PipelineVariable`,
    body: await variableBody(undone),
    makes: "PipelineVariableCreated",
  }),
  PipelineLifetimeSet: async ({ before, ownerScope }) => {
    const { lifetimeDays: lifetime = lifetimeDaysDefault, enabled = false } = await before();
    return { operationId: `set${ownerScope.noun}PipelineLifetime`, body: { lifetime, enabled } };
  },
  PipelineScheduleCreated: removes("deletePipelineSchedule", "id"),
  PipelineTriggerCreated: removes("deletePipelineTrigger", "id"),
  MirrorConfigured: ({ data }) => {
    if (data["previous"] !== null) throw impossible("Configure the mirror again as it was.");
    return { operationId: "removeMirror" };
  },
};
