import type { Administrator } from "../first-administrator.ts";

export type Welcome = Readonly<{ url: string; administrator: Administrator | undefined }>;

/** What a newcomer needs to push a repository. */
export function welcome({ url, administrator }: Welcome): string {
  const { alias = "admin", password } = administrator ?? {};
  const login = `${alias}:${password ?? "PASSWORD"}`;
  const target = new URL(url);
  target.username = alias;
  const json = "-H 'Content-Type: application/json'";
  return [
    "",
    `Ledgerforge answers at ${url}`,
    `Administrator: ${alias}`,
    ...(password === undefined ? [] : [`Password:      ${password}   (shown only now)`]),
    "",
    "A first push:",
    `  token=$(curl -fsSu '${login}' ${json} -d '{"name":"first","scopes":["USER_WRITE","PROJECT_WRITE","PROJECT_EDIT"]}' ${url}/user/settings/access-token/create | sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')`,
    `  curl -fsS -H "Authorization: token $token" ${json} -d '{"title":"Hello","alias":"hello","isPrivate":false}' ${url}/project`,
    `  git push "${target.protocol}//${alias}:$token@${target.host}${target.pathname.replace(/\/$/, "")}/project/${alias}/hello.git" HEAD:main`,
    "",
    "An agent on this machine, which runs pipelines:",
    `  node bin/ledgerforge.js agent register --url ${url} --token "$(curl -fsS -H "Authorization: token $token" ${url}/admin/runners/registration-info | sed -n 's/.*"registrationToken":"\\([^"]*\\)".*/\\1/p')" && node bin/ledgerforge.js agent run`,
    "",
    "",
  ].join("\n");
}
