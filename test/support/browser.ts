import type { TestUser } from "./app.ts";

export type Shown = Readonly<{
  status: number;
  text: string;
  headers: Headers;
  /** Where it leads on to; empty when nowhere. */
  location: string;
}>;

type Fields = Readonly<Record<string, string | readonly string[]>>;
type Headers_ = Readonly<Record<string, string>>;

export type Browser = ReturnType<typeof browser>;

/** As much of a browser as pages without scripts need: cookies, links, forms with their hidden fields. */
export function browser(base: string) {
  const cookies = new Map<string, string>();

  async function send(method: string, at: string, body?: string, headers: Headers_ = {}) {
    const answer = await fetch(new URL(at, base), {
      method,
      redirect: "manual",
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        ...(body === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "" || /expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    const location = answer.headers.get("location") ?? "";
    return { status: answer.status, text: await answer.text(), headers: answer.headers, location };
  }

  const open = (at: string, headers?: Headers_): Promise<Shown> =>
    send("GET", at, undefined, headers);

  const post = (at: string, fields: Fields, headers?: Headers_): Promise<Shown> => {
    const pairs = Object.entries(fields).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    );
    return send("POST", at, new URLSearchParams(pairs).toString(), headers);
  };

  /** Fills in and sends the form of a page that goes to this address. */
  const submit = (page: Shown, action: string, fields: Fields = {}): Promise<Shown> =>
    post(action, { ...hiddenFields(page.text, action), ...fields });

  return {
    cookies,
    open,
    post,
    submit,
    /** Goes to the page, or to where that leads within this service. */
    async follow(at: string): Promise<Shown> {
      let shown = await open(at);
      for (let n = 0; n < 5 && shown.location.startsWith("/"); n += 1) {
        shown = await open(shown.location);
      }
      return shown;
    },
    async logIn(user: Pick<TestUser, "alias" | "password">, returnTo = "/console") {
      const page = await open(`/login?returnTo=${encodeURIComponent(returnTo)}&choose=1`);
      return await submit(page, "/login", { login: user.alias, password: user.password });
    },
  };
}

/** @throws when there is no such form */
export function hiddenFields(page: string, action: string): Record<string, string> {
  const forms = [...page.matchAll(/<form\b[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
  const form = forms.find(([, target = ""]) => unescaped(target) === action);
  if (form === undefined) throw new Error(`no form to ${action} in ${page.slice(0, 2_000)}`);
  const inputs = (form[2] ?? "").match(/<input\b[^>]*type="hidden"[^>]*>/g) ?? [];
  const attribute = (input: string, name: string) =>
    unescaped(new RegExp(`\\b${name}="([^"]*)"`).exec(input)?.[1] ?? "");
  return Object.fromEntries(
    inputs.map((input) => [attribute(input, "name"), attribute(input, "value")]),
  );
}

const unescaped = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
