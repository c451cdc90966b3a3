/** A change, where it shows, and what an undo of it brings back there. */
export type Change = Readonly<{
  type: string;
  /** What the undo appends; the type itself when left out. */
  opposite?: string;
  method: "POST" | "PUT" | "PATCH" | "DELETE";
  at: string;
  body?: object;
  shows: string;
  place?: string;
}>;

export const changing = "/project/anna/changing";
const rules = "/merge-request/approval/rule";
const configuration = "/merge-request/approval/configuration";
const approval = { targetBranch: "side", name: "One", minimalApprovals: 0 };
/** In `{}` are ids of things that the test makes before. */
export const changes: readonly Change[] = [
  ...(["team", "company"] as const).map((kind) => ({
    type: kind === "team" ? "TeamDetailsChanged" : "CompanyDetailsChanged",
    method: "PUT" as const,
    at: `/${kind}/changing-${kind}`,
    body: { title: "Other", description: "other", isPrivate: false },
    shows: `/${kind}/changing-${kind}`,
    place: `/${kind}/changing-${kind}`,
  })),
  {
    type: "TemplateSettingsChanged",
    method: "POST",
    at: "/team/changing-team/setting/import",
    body: { allowImportTagProtection: true },
    shows: "/team/changing-team/setting/import",
    place: "/team/changing-team",
  },
  ...["team", "company"].flatMap((kind) => {
    const place = `/${kind}/changing-${kind}`;
    const at = `${place}/setting/cicd/pipeline-lifetime`;
    const set = { type: "PipelineLifetimeSet", method: "PUT", at, shows: at, place } as const;
    return [
      { ...set, body: { lifetime: 30, enabled: true } },
      { ...set, body: { enabled: true } },
    ];
  }),
  {
    type: "ProjectDefaultBranchChanged",
    method: "PUT",
    at: `${changing}/setting/default-branch`,
    body: { branchName: "side" },
    shows: changing,
  },
  {
    type: "MergeSettingsChanged",
    method: "PUT",
    at: `${changing}/setting/merge`,
    body: { squash: "ALWAYS" },
    shows: `${changing}/setting/merge`,
  },
  {
    type: "MergeMessagesChanged",
    method: "PUT",
    at: `${changing}/setting/merge-message`,
    body: { mergeCommitMessage: "Other" },
    shows: `${changing}/setting/merge-message`,
  },
  {
    type: "ProtectionRuleEdited",
    method: "PATCH",
    at: `${changing}/tag-protection/edit`,
    body: { allowToCreate: "NO_ONE" },
    shows: `${changing}/tag-protection`,
  },
  {
    type: "ApprovalRuleEdited",
    method: "PATCH",
    at: `${changing}${rules}/edit`,
    body: { name: "Other" },
    shows: `${changing}${rules}`,
  },
  {
    type: "ApprovalRuleDeleted",
    opposite: "ApprovalRuleCreated",
    method: "DELETE",
    at: `${changing}${rules}/{approval}`,
    shows: `${changing}${rules}`,
  },
  {
    type: "ApprovalRuleCreated",
    opposite: "ApprovalRuleDeleted",
    method: "POST",
    at: `${changing}${rules}/create`,
    body: { ...approval, allowedApproversUuid: [] },
    shows: `${changing}${rules}`,
  },
  {
    type: "ApprovalConfigurationChanged",
    method: "PATCH",
    at: `${changing}${configuration}/edit`,
    body: { preventAuthorApproving: true },
    shows: `${changing}${configuration}`,
  },
  {
    type: "IssueCommentEdited",
    method: "PUT",
    at: `${changing}/issue-discussion/1/{comment}/edit`,
    body: { note: "other" },
    shows: `${changing}/issue-discussion/1`,
  },
  {
    type: "MergeRequestEdited",
    method: "PUT",
    at: `${changing}/merge-request/1`,
    body: { title: "Other", description: "other", squashCommit: true, workInProgress: true },
    shows: `${changing}/merge-request/1`,
  },
  {
    type: "MergeRequestRetargeted",
    method: "PUT",
    at: `${changing}/merge-request/1`,
    body: { targetBranch: { id: "third" } },
    shows: `${changing}/merge-request/1`,
  },
  {
    type: "DiscussionNoteEdited",
    method: "PUT",
    at: `${changing}/merge-request/1/discussions/edit/{note}`,
    body: { message: "other" },
    shows: `${changing}/merge-request/1/discussions`,
  },
  {
    type: "DiscussionReplied",
    opposite: "DiscussionNoteDeleted",
    method: "POST",
    at: `${changing}/merge-request/1/discussions/reply`,
    body: { message: "Because" },
    shows: `${changing}/merge-request/1/discussions`,
  },
  {
    type: "ReleaseCreated",
    opposite: "ReleaseDeleted",
    method: "POST",
    at: `${changing}/release`,
    body: { title: "One", tagName: "r1", branchName: "main" },
    shows: `${changing}/release`,
  },
  {
    type: "WebhookReconfigured",
    method: "POST",
    at: `${changing}/setting/webhook/{hook}`,
    body: { url: "https://hooks.example.net/b", secret: "s2", events: { TAG_CREATE: true } },
    shows: `${changing}/setting/webhook`,
  },
  {
    type: "PipelineScheduleCreated",
    opposite: "PipelineScheduleDeleted",
    method: "POST",
    at: `${changing}/cicd/schedule`,
    body: { description: "d", cron: "0 4 * * *", refName: "main", variables: [] },
    shows: `${changing}/cicd/schedule`,
  },
  {
    type: "PipelineTriggerCreated",
    opposite: "PipelineTriggerDeleted",
    method: "POST",
    at: `${changing}/cicd/trigger`,
    body: { description: "d" },
    shows: `${changing}/cicd/trigger`,
  },
];
