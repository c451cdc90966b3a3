import { z } from "zod";

export const PipelineId = z.uuid().brand("PipelineId");
export type PipelineId = z.output<typeof PipelineId>;

export const JobId = z.uuid().brand("JobId");
export type JobId = z.output<typeof JobId>;
