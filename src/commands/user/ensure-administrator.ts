import { Alias, UserId } from "../../events/core/ids.ts";
import { bySystem } from "../../events/core/system.ts";
import { userStream } from "../../events/user/user.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { type RegisterUserDeps, registerUser } from "./register-user.ts";

/** One instance has one first administrator: starting twice at once cannot make two. */
const administratorId = UserId.parse(deterministicId("first administrator"));

export type FirstAdministrator = Readonly<{ alias: string; email: string; password: string }>;

/**
 * Registers the first administrator on the first start; later starts change nothing, also when
 * alias, e-mail or password are configured differently by then.
 */
export async function ensureAdministrator(
  deps: RegisterUserDeps,
  { alias, email, password }: FirstAdministrator,
): Promise<Readonly<{ created: boolean }>> {
  if (await administratorExists(deps)) return { created: false };
  const commandId = deterministicId("register first administrator");
  const metadata = bySystem({ commandId, correlationId: "first start" }, deps.now());
  const newUser = {
    userId: administratorId,
    alias: Alias.parse(alias),
    email,
    password,
    admin: true,
    confirmed: true,
  };
  await registerUser(deps, newUser, metadata);
  return { created: true };
}

export async function administratorExists({
  store,
}: Pick<RegisterUserDeps, "store">): Promise<boolean> {
  for await (const _ of store.readStreamBackwards(userStream(administratorId), 1)) return true;
  return false;
}
