import { tokenScopes } from "../support/access/token-scopes.ts";

await tokenScopes("whole");
