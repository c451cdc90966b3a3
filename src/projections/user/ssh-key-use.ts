import type { UseTable } from "../../platform/last-used.ts";

/** When a key last opened something: noted by SSH, shown with the key. */
export const sshKeyUses: UseTable = { table: "ssh_key_use", column: "key_id" };
