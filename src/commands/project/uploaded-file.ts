import type { UserId } from "../../events/core/ids.ts";
import {
  type UploadedFileEvent,
  uploadedFileEvents,
  uploadedFileStream,
} from "../../events/project/uploaded-file.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Uploaded = Extract<UploadedFileEvent, { type: "FileUploaded" }>["data"];

export type UploadedFileCommand =
  | Readonly<{ type: "RecordUpload"; file: Omit<Uploaded, "uploadedAt">; at: string }>
  | Readonly<{ type: "DeleteUpload"; by: UserId; at: string }>;

type State = Readonly<{ uploaded: Uploaded | undefined; isDeleted: boolean }>;

export const uploadedFile: Slice<State, UploadedFileCommand, typeof uploadedFileEvents> = {
  events: uploadedFileEvents,
  stream: uploadedFileStream,
  initialState: { uploaded: undefined, isDeleted: false },

  /** A repeated upload changes nothing. */
  decide({ uploaded, isDeleted }, command) {
    if (command.type === "RecordUpload") {
      if (uploaded !== undefined) return [];
      return [{ type: "FileUploaded", data: { ...command.file, uploadedAt: command.at } }];
    }
    if (uploaded === undefined || isDeleted) throw fileNotFound();
    const { projectId } = uploaded;
    const data = { projectId, deletedById: command.by, deletedAt: command.at };
    return [{ type: "UploadedFileDeleted", data }];
  },

  evolve(state, event) {
    if (event.type === "UploadedFileDeleted") return { ...state, isDeleted: true };
    return { uploaded: event.data, isDeleted: false };
  },
};

export function fileNotFound(): Refusal {
  return new Refusal("not_found", "file.not_found", "The project has no such file.");
}
