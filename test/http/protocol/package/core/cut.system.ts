import { expect } from "chai";

import { PackageType } from "../../../../../src/events/package/version.ts";
import { cutUploads } from "../../../../support/package/cut-upload.ts";
import { packageUploads } from "../../../../support/package/package-upload.ts";

const uploads = packageUploads("cut");
await cutUploads(uploads);

describe("an upload that stops", () => {
  it("is tried of every type", () => {
    expect([...Object.keys(uploads), "container"]).to.have.members(PackageType.options);
  });
});
