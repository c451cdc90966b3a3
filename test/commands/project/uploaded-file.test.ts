import { uploadedFile } from "../../../src/commands/project/uploaded-file.ts";
import { ProjectId, UserId } from "../../../src/events/core/ids.ts";
import { UploadedFileId } from "../../../src/events/project/uploaded-file.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(uploadedFile);
const file = {
  uploadedFileId: UploadedFileId.parse("8c2b1a09-8f7e-4d6c-9b5a-4e3d2c1b0a98"),
  projectId: ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d"),
  name: "screen.png",
  bytes: 3,
  md5: "0".repeat(32),
  sha1: "0".repeat(40),
  sha256: "0".repeat(64),
  sha512: "0".repeat(128),
  uploadedById: UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01"),
};

describe("an uploaded file", () => {
  it("is recorded once", () => {
    const command = { type: "RecordUpload", file, at } as const;
    const uploaded = { type: "FileUploaded", data: { ...file, uploadedAt: at } } as const;
    given().when(command).gives(uploaded);
    given(uploaded).when(command).givesNothing();
  });
});
