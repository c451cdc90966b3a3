import type { z } from "zod";

import { Uuid } from "../core/ids.ts";

export const PipelineId = Uuid.brand("PipelineId");
export type PipelineId = z.output<typeof PipelineId>;

export const JobId = Uuid.brand("JobId");
export type JobId = z.output<typeof JobId>;
