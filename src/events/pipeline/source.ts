import { z } from "zod";

/** What a pipeline was started by. */
export const PipelineSource = z.enum([
  "PUSH",
  "TRIGGER",
  "SCHEDULE",
  "WEB",
  "API",
  "PARENT_PIPELINE",
  "MERGE_REQUEST_EVENT",
]);
export type PipelineSource = z.output<typeof PipelineSource>;
