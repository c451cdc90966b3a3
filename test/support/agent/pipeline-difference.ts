type Difference = Readonly<{
  /** Names of files of the corpus. */
  files: RegExp;
  /** As the test writes them: what we make of it / what gitlab-ci-local makes of it. */
  lines: RegExp;
  /** Why ours is right. */
  reason: string;
}>;

/**
 * Where gitlab-ci-local 4.75 reads a file otherwise than we do. GitLab's documentation of the keyword decides
 * (docs.gitlab.com/ci/yaml).
 */
export const differences: readonly Difference[] = [
  {
    files: /./,
    lines: /^(?!manual-no )\S.* allowFailure of manual: true \/ false$/,
    reason: "allow_failure: the default is true for manual jobs, unless rules make them manual.",
  },
  {
    files: /^rule-results$/,
    lines: /^always allowFailure of always: false \/ true$/,
    reason: "allow_failure: the default is false for a job that its rules do not leave manual.",
  },
  {
    files: /^job-(?:variables|rules)$|^file-(?:variables|workflow)$/,
    lines: /^[\w-]+: \[\w+, arm\] variables: \{"ARCH":"arm",/,
    reason:
      "parallel:matrix: its variables are defined in every job; a preview does not show jobs.",
  },
  {
    files: /^rule-variables$/,
    lines: /^own variables: .*"rule".* \/ \{"A":"file","B":"job"\}$/,
    reason: "rules:variables: they define variables of the job; a preview is made before rules.",
  },
  {
    files: /^needs-graph$/,
    lines: /^four needs: \["one"\] \/ \["gone","one"\]$/,
    reason: "needs:optional: a job that is not in the pipeline is not waited for.",
  },
  {
    files: /^needs-matrix$/,
    lines: /^all needs: \["one: \[b, 1\]",.*\] \/ \["one"\]$/,
    reason: "needs: a job that parallel makes several of stands for all of them, which we name.",
  },
  {
    files: /^needs-matrix$/,
    lines: /^some needs: \["one: \[l, 2\]"\] \/ \["one"\]$/,
    reason: "needs:parallel:matrix: the job waits for the cells that are named, not for all.",
  },
  {
    files: /^workflow-default$/,
    lines: /^jobs: job \/ job, tagged$/,
    reason:
      "only: tags keeps a job out of pipelines of branches, which gitlab-ci-local leaves aside.",
  },
  {
    files: /^only-except$/,
    lines: /^jobs: main, pattern, branches, pushes, condition \/ .*$/,
    reason:
      "only and except decide by branch, source and variables; gitlab-ci-local leaves both aside.",
  },
];
