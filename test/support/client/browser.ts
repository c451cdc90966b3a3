import type { TestUser } from "../app/app.ts";

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

export type Form = Readonly<{
  action: string;
  fields: readonly Readonly<{ name: string; value: string; type: string }>[];
}>;

/** The forms of a page that change something, with each field that a browser would send or a person fill in. */
export function formsIn(page: string): readonly Form[] {
  const forms = page.matchAll(
    /<form\b[^>]*method="post"[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g,
  );
  return [...forms].map(([, action = "", content = ""]) => ({
    action: unescaped(action),
    fields: [...content.matchAll(/<(input|textarea|select|button)\b[^>]*\bname="[^>]*>/g)].map(
      ([tag, element = ""], index, all) => {
        const chosen = /<option value="([^"]*)" selected/.exec(
          content.slice(all[index]?.index, all[index + 1]?.index),
        );
        const value = element === "select" ? (chosen?.[1] ?? "") : attributeOf(tag, "value");
        return {
          name: attributeOf(tag, "name"),
          value: unescaped(value),
          type: attributeOf(tag, "type") || element,
        };
      },
    ),
  }));
}

/** @throws when there is no such form */
export function hiddenFields(page: string, action: string): Record<string, string> {
  const form = formsIn(page).find((one) => one.action === action);
  if (form === undefined) throw new Error(`no form to ${action} in ${page.slice(0, 2_000)}`);
  const hidden = form.fields.filter(({ type }) => type === "hidden");
  return Object.fromEntries(hidden.map(({ name, value }) => [name, value]));
}

const attributeOf = (tag: string, name: string): string =>
  unescaped(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? "");

export const unescaped = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
