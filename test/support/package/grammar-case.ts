import { basicAuth } from "../app/basic-auth.ts";
import type { startRegistryApp } from "../client/registry.ts";
import type { Sending } from "./parsed-upload.ts";

type Registry = Pick<Awaited<ReturnType<typeof startRegistryApp>>, "anna" | "baseOf">;

/** Sends uploads to the repository that is called by their type. */
export function sender({ anna, baseOf }: Registry) {
  return async (type: string, { method, path, type: contentType, body }: Sending) => {
    const headers = {
      authorization: basicAuth("anna", anna.token),
      "content-type": contentType ?? "application/octet-stream",
    };
    const sent = { method, headers, body: new Uint8Array(body) };
    const answer = await fetch(`${baseOf(type)}/${path}`, sent);
    return { status: answer.status, text: await answer.text() };
  };
}

/** Uploads by what is in them. The last word of a path, or of a manifest, is what the client would parse. */
export type Cases = Readonly<Record<string, Sending>>;
export const each = (
  texts: readonly string[],
  sending: (text: string, n: number) => Sending,
): Cases => Object.fromEntries(texts.map((text, n) => [text, sending(text, n)]));

export const number = (n: number) => `1.0.${n}`;
export const gemNeeds = (version: string, by = ">=") =>
  `dependencies:\n- !ruby/object:Gem::Dependency\n  name: other\n  requirement: !ruby/object:Gem::Requirement\n    requirements:\n    - - "${by}"\n      - !ruby/object:Gem::Version\n        version: "${version}"\n  type: :runtime\n`;
export const chartNeeds = (version: string, more = "") =>
  `apiVersion: v2\ndependencies:\n- name: other\n  version: ${JSON.stringify(version)}\n  repository: ""\n${more}`;
