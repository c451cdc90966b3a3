/** An Authorization header of a login with its password, or with a token in its place. */
export function basicAuth(login: string, secret: string): string {
  return `Basic ${Buffer.from(`${login}:${secret}`).toString("base64")}`;
}
