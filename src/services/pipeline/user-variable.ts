import { findUserById } from "../../projections/user/user.ts";
import type { WorkerDeps } from "../core/deps.ts";

/** `GITLAB_USER_*` of the person for whom a pipeline or a job acts; none for the service and for forgotten users. */
export async function userVariables(
  { db }: Pick<WorkerDeps, "db">,
  userId: string | null,
): Promise<Readonly<Record<string, string>>> {
  const user = userId === null ? undefined : await findUserById(db, userId);
  if (user === undefined || user.forgotten_at !== null) return {};
  const name = [user.name, user.surname].filter(Boolean).join(" ");
  return {
    GITLAB_USER_ID: user.id,
    GITLAB_USER_LOGIN: user.alias,
    GITLAB_USER_NAME: name || user.alias,
  };
}
