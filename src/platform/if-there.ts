import { access } from "node:fs/promises";

/** Whether this process may reach a file. @param mode what else it must be allowed, as of node:fs */
export const isThere = (file: string, mode?: number): Promise<boolean> =>
  access(file, mode).then(
    () => true,
    () => false,
  );

/**
 * What a call on a file gives; undefined when nothing has the name.
 *
 * @param others codes of errors that mean the same here
 */
export async function ifThere<Result>(
  call: Promise<Result>,
  ...others: readonly string[]
): Promise<Result | undefined> {
  try {
    return await call;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR", ...others].includes(code)) return undefined;
    throw error;
  }
}
