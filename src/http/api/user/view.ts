import { z } from "zod";

import type { UserRow } from "../../../projections/user/user.ts";

const publicFields = {
  id: z.uuid(),
  username: z.string().meta({ description: "The alias." }),
  name: z.string(),
  surname: z.string(),
  fullName: z.string().meta({ description: "Name and surname; the alias when both are empty." }),
  avatar: z.string(),
  cover: z.string(),
};

export const UserView = z.object(publicFields).meta({ id: "User" });

export const OwnUserView = z
  .object({ ...publicFields, email: z.string() })
  .meta({ id: "OwnUser", description: "A user as shown to that user." });

export const AdminUserView = z
  .object({ ...publicFields, email: z.string(), confirmed: z.boolean() })
  .meta({ id: "AdminUser", description: "A user as shown to administrators." });

export function adminUserView(row: UserRow): z.input<typeof AdminUserView> {
  return { ...userView(row), email: row.email ?? "", confirmed: row.is_confirmed };
}

type Named = Pick<UserRow, "id" | "alias" | "name" | "surname" | "avatar" | "cover">;

export function userView(row: Named): z.input<typeof UserView> {
  const name = row.name ?? "";
  const surname = row.surname ?? "";
  return {
    id: row.id,
    username: row.alias,
    name,
    surname,
    fullName: [name, surname].filter((part) => part !== "").join(" ") || row.alias,
    avatar: row.avatar ?? "",
    cover: row.cover ?? "",
  };
}
