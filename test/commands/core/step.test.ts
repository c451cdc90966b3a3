import { expect } from "chai";

import { stepOf } from "../../../src/commands/core/step.ts";
import { metadataFor } from "../../support/app/history.ts";

const metadata = metadataFor("process");

describe("a step of a process", () => {
  it("is the same command each time", () => {
    expect(stepOf(metadata, "file", 1)).to.deep.equal(stepOf(metadata, "file", 1));
  });

  it("is another command than the process, another step and the step of another process", () => {
    const ids = [
      metadata,
      stepOf(metadata, "file", 1),
      stepOf(metadata, "file", 2),
      stepOf(metadataFor("other process"), "file", 1),
    ].map(({ commandId }) => commandId);
    expect(new Set(ids).size).to.equal(4);
  });

  it("keeps everything else of the metadata", () => {
    const step = stepOf(metadata, "file", 1);
    expect({ ...step, commandId: metadata.commandId }).to.deep.equal(metadata);
  });
});
