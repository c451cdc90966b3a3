/** A git child ended badly. The message holds the command's name and git's own words, no input. */
export class GitFailure extends Error {
  override readonly name = "GitFailure";

  constructor(
    command: string,
    readonly exitCode: number | null,
    /** The end of what it printed. */
    readonly stderr: string,
    /** It was ended for the time it took. */
    readonly timedOut = false,
  ) {
    super(`git ${command} ended with ${exitCode ?? "a signal"}: ${stderr.trim().slice(0, 500)}`);
  }
}
