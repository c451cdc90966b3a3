import type { UseTable } from "../../platform/last-used.ts";

/** The last use of an SSH key: recorded by the role `ssh`, shown with the key. */
export const sshKeyUses: UseTable = { table: "ssh_key_use", column: "key_id" };
