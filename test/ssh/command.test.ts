import { expect } from "chai";

import { parseSshCommand } from "../../src/ssh/command.ts";

const names = { ownerAlias: "anna", projectAlias: "search" };

describe("a command over SSH", () => {
  for (const [text, expected] of [
    ["git-upload-pack 'anna/search.git'", { ...names, service: "upload-pack" }],
    ["git-receive-pack '/anna/search.git'", { ...names, service: "receive-pack" }],
    ["git upload-archive anna/search", { ...names, service: "upload-archive" }],
    ['git-upload-pack "anna/search.git"', { ...names, service: "upload-pack" }],
    [
      "git-lfs-authenticate anna/search.git download",
      { ...names, service: "lfs-authenticate", operation: "download" },
    ],
    [
      `git-lfs-authenticate '/anna/search.git' upload ${"a".repeat(64)}`,
      { ...names, service: "lfs-authenticate", operation: "upload" },
    ],
  ] as const) {
    it(`is understood: ${text.slice(0, 60)}`, () => {
      expect(parseSshCommand(text)).to.deep.equal(expected);
    });
  }

  for (const text of [
    "env git-upload-pack anna/search",
    "exec git-lfs-authenticate anna/search download",
    "git-lfs-authenticate anna/search download; id",
    `git-lfs-authenticate anna/search download ${"a".repeat(65)}`,
  ]) {
    it(`is matched from its beginning to its end: ${text.slice(0, 60)}`, () => {
      expect(parseSshCommand(text)).to.equal(undefined);
    });
  }
});
