import { expect } from "chai";

import { loadedPackages } from "./support/app/loaded-packages.ts";

/** Loading modules is most of a start: what few instances use is loaded at its first use. */
const always = [
  "@eventstore/db-client",
  "@grpc/grpc-js",
  "google-protobuf",
  "knex",
  "lru-cache",
  "pg",
  "pino",
  "protobufjs",
  "zod",
];
const git = ["ipaddr.js", "simple-git"];
const expected = {
  http: [
    ...always,
    ...git,
    "@fastify/busboy",
    "@koa/router",
    "@renovatebot/pep440",
    "bullmq",
    "croner",
    "koa",
    "markdown-it",
    "otpauth",
    "prom-client",
    "rate-limiter-flexible",
    "semver",
    "yaml",
  ],
  projections: [...always, "@renovatebot/pep440", "markdown-it", "semver", "yaml"],
  ssh: [...always, ...git, "ssh2"],
  workers: [
    ...always,
    ...git,
    ...["@renovatebot/pep440", "bullmq", "croner", "markdown-it", "semver", "yaml"],
  ],
} as const;

describe("the start of a role", () => {
  for (const [role, packages] of Object.entries(expected)) {
    it(`loads of our dependencies only what every ${role} needs`, async () => {
      expect(await loadedPackages(role)).to.deep.equal([...packages].sort());
    });
  }
});
