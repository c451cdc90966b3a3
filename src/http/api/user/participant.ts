import { forgottenName } from "../../../projections/user/commit-author.ts";
import type { UserRow } from "../../../projections/user/user.ts";
import { userView } from "./view.ts";

/** The author, editor or assignee of something; a person who was forgotten is no longer named. */
export function participantView(row: UserRow | undefined, id: string) {
  if (row !== undefined && row.forgotten_at === null) return userView(row);
  return {
    id,
    username: "",
    name: "",
    surname: "",
    fullName: forgottenName,
    avatar: "",
    cover: "",
  };
}
