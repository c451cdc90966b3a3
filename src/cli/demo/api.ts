import { invariant } from "../../platform/invariant.ts";
import type { Shell } from "./shell.ts";

export type Call = Readonly<{
  body?: unknown;
  /** `alias:password`, for Basic authentication instead of the token. */
  login?: string;
  quiet?: boolean;
}>;

export type Api = Readonly<{
  /** Calls the interface with curl and gives the JSON answered; any status but 2xx is a failure. */
  json: (method: string, path: string, call?: Call) => Promise<Json>;
  text: (method: string, path: string, call?: Call) => Promise<string>;
  useToken: (token: string) => void;
}>;

/** JSON of which we know what to expect: a wrong expectation ends the demo with the path it took. */
export type Json = Readonly<{
  value: unknown;
  at: (...path: readonly (string | number)[]) => Json;
  string: () => string;
  number: () => number;
  items: () => readonly Json[];
}>;

export function openApi(shell: Shell, url: string): Api {
  let token = "";
  const text: Api["text"] = (method, path, { body, login, quiet = false } = {}) => {
    const identity = login === undefined ? ["-H", `Authorization: token ${token}`] : ["-u", login];
    const content =
      body === undefined
        ? []
        : ["-H", "Content-Type: application/json", "-d", JSON.stringify(body)];
    const args = ["-sS", "--fail-with-body", "-X", method, ...identity, ...content, url + path];
    return shell.run("curl", args, { quiet });
  };
  return {
    text,
    json: async (method, path, call) =>
      json(JSON.parse(await text(method, path, call)), `${method} ${path}`),
    useToken(value) {
      shell.hide(value);
      token = value;
    },
  };
}

function json(value: unknown, where: string): Json {
  const must = (holds: boolean, what: string) => invariant(holds, `${where} is ${what}`);
  return {
    value,
    at: (...path) =>
      path.reduce<Json>(
        (parent, key) => {
          const inside = `${where} › ${key}`;
          invariant(typeof parent.value === "object" && parent.value !== null, `${inside} exists`);
          return json(Reflect.get(parent.value, key), inside);
        },
        json(value, where),
      ),
    string() {
      must(typeof value === "string", "text");
      return String(value);
    },
    number() {
      must(typeof value === "number", "a number");
      return Number(value);
    },
    items() {
      must(Array.isArray(value), "a list");
      return (value as readonly unknown[]).map((item, index) => json(item, `${where}[${index}]`));
    },
  };
}
