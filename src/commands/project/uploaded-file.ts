import {
  type UploadedFileEvent,
  uploadedFileEvents,
  uploadedFileStream,
} from "../../events/project/uploaded-file.ts";
import type { Decider, Slice } from "../core/decider.ts";

type Uploaded = UploadedFileEvent["data"];

export type UploadedFileCommand = Readonly<{
  type: "RecordUpload";
  file: Omit<Uploaded, "uploadedAt">;
  at: string;
}>;

type State = Readonly<{ isUploaded: boolean }>;

const decider: Decider<State, UploadedFileCommand, UploadedFileEvent> = {
  initialState: { isUploaded: false },

  /** A repeated upload changes nothing. */
  decide({ isUploaded }, { file, at }) {
    return isUploaded ? [] : [{ type: "FileUploaded", data: { ...file, uploadedAt: at } }];
  },

  evolve() {
    return { isUploaded: true };
  },
};

export const uploadedFile: Slice<State, UploadedFileCommand, typeof uploadedFileEvents> = {
  events: uploadedFileEvents,
  stream: uploadedFileStream,
  decider,
};
