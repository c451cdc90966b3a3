import { Refusal } from "../../../platform/refusal.ts";
import { signIn } from "../../access/session.ts";
import type { PageAnswer, PageDeps, Visit } from "../core/route.ts";
import { type AuthenticatedPerson, accountOf, connect } from "./external-account.ts";
import { type Attempt, endAttempt } from "./sign-in-attempt.ts";

/** The last step of every login elsewhere: a session, or the identity connected to who is logged in. */
export async function finishLogin(
  authenticated: AuthenticatedPerson,
  attempt: Pick<Attempt, "linkTo" | "returnTo">,
  visit: Visit,
  deps: PageDeps,
): Promise<PageAnswer> {
  if (attempt.linkTo !== null) {
    // The user who is logged in by now may be another than the one who began the login.
    if (visit.userId !== attempt.linkTo) {
      const message =
        "Another user is logged in than the one who began to connect this identity. Begin again.";
      throw new Refusal("forbidden", "sso.other_person", message);
    }
    await connect(authenticated, attempt.linkTo, "person", visit, deps);
    return { redirect: attempt.returnTo, cookies: [endAttempt] };
  }
  const userId = await accountOf(authenticated, visit, deps);
  const via = authenticated.connection.details.kind;
  const answer = await signIn(visit, { userId, via, returnTo: attempt.returnTo }, deps);
  return { ...answer, cookies: [...(answer.cookies ?? []), endAttempt] };
}
