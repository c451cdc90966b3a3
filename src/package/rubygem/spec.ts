import { deflateSync } from "node:zlib";
import type { GemMetadata } from "./format.ts";
import { type RubyValue, rubyMarshal } from "./marshal.ts";

const versionOf = (version: string): RubyValue => ({ custom: "Gem::Version", value: [version] });

type Requirements = readonly (readonly [by: string, version: string])[];

const anyVersion: Requirements = [[">=", "0"]];

const requirementOf = (requirements: Requirements = anyVersion): RubyValue => ({
  custom: "Gem::Requirement",
  value: [requirements.map(([by, version]) => [by, versionOf(version)])],
});

/** Gem::Platform.new of a text. */
function platformOf(platform: string): RubyValue {
  if (platform === "ruby") return "ruby";
  const [first = "", ...rest] = platform.split("-");
  const isAlone = rest.length === 0;
  const cpu = isAlone ? null : first.replace(/^i\d86$/, "x86");
  const name = isAlone ? first : rest.join("-");
  const [, os = name, version = null] =
    /^(darwin|freebsd|linux|mingw|mswin32|mswin64|openbsd|solaris|wasi)-?(\w+)?$/.exec(name) ?? [];
  const of = /^mingw32$/.test(name) ? { os: "mingw32", version: null } : { os, version };
  const variables = { "@cpu": cpu, "@os": of.os, "@version": of.version ?? null };
  return { object: "Gem::Platform", variables };
}

/** What `gem install` reads beside the index: zlib of a marshalled Gem::Specification (its `_dump`). */
export function gemspecFile(gem: GemMetadata): Buffer {
  const fields: RubyValue = [
    gem.rubygems_version || "3.0.0",
    4,
    gem.name,
    versionOf(gem.number),
    /^\d{4}-\d{2}-\d{2}/.exec(gem.date)?.[0] ?? "1980-01-02",
    gem.summary,
    requirementOf(gem.required_ruby_version),
    requirementOf(gem.required_rubygems_version),
    gem.platform,
    (gem.dependencies ?? []).map(({ name, requirement, type }) => ({
      object: "Gem::Dependency",
      variables: {
        "@name": name,
        "@requirement": requirementOf(requirement),
        "@type": { symbol: type === "development" ? "development" : "runtime" },
        "@prerelease": false,
        "@version_requirements": requirementOf(requirement),
      },
    })),
    "",
    gem.email,
    gem.authors,
    gem.description,
    gem.homepage,
    true,
    platformOf(gem.platform),
    gem.licenses,
    { hash: Object.entries(gem.metadata) },
  ];
  return deflateSync(rubyMarshal({ dumped: "Gem::Specification", bytes: rubyMarshal(fields) }));
}

export type GemLine = Readonly<{ name: string; number: string; platform: string }>;

/** The old index: name, version and platform of all gems. */
export const gemIndex = (gems: readonly GemLine[]): Buffer =>
  rubyMarshal(gems.map(({ name, number, platform }) => [name, versionOf(number), platform]));

/** The lines of a gem in the compact index: version, dependencies, what it needs. */
export function infoLine(gem: GemMetadata, sha256: string): string {
  const joined = (requirements: Requirements): string =>
    requirements.map((each) => each.join(" ")).join("&");
  const dependencies = (gem.dependencies ?? [])
    .filter(({ type }) => type === "runtime")
    .map(({ name, requirement }) => `${name}:${joined(requirement)}`)
    .sort();
  const needs = (name: string, requirements: Requirements = anyVersion): readonly string[] =>
    joined(requirements) === ">= 0" ? [] : [`${name}:${joined(requirements)}`];
  const after = [
    `checksum:${sha256}`,
    ...needs("ruby", gem.required_ruby_version),
    ...needs("rubygems", gem.required_rubygems_version),
  ];
  const version = gem.platform === "ruby" ? gem.number : `${gem.number}-${gem.platform}`;
  return `${version} ${dependencies.join(",")}|${after.join(",")}`;
}
