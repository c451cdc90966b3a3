import { ProjectId } from "../core/ids.ts";

/**
 * Agents know jobs and pipelines by integers of the whole service. Pipelines are numbered in a
 * sequence that belongs to no project; the numbers of their jobs follow from theirs.
 */
export const serviceNumberProject = ProjectId.parse("00000000-0000-0000-0000-000000000000");

/** More than any pipeline has jobs. */
const jobsPerPipeline = 4_096;

/**
 * What represents a pipeline in the sequence of the service: its id with a bit
 * of the variant changed, as its own id stands in the sequence of its project. The function is its
 * own inverse.
 */
export function serviceNumberSubject(pipelineId: string): string {
  const digit = Number.parseInt(pipelineId.charAt(19), 16) ^ 1;
  return `${pipelineId.slice(0, 19)}${digit.toString(16)}${pipelineId.slice(20)}`;
}

/** @param place of the job in its pipeline, from 0 */
export function jobNumber(pipelineNumber: bigint, place: number): number {
  return Number(pipelineNumber) * jobsPerPipeline + place;
}

export function placeOfNumber(number: number): Readonly<{ pipelineNumber: number; place: number }> {
  return {
    pipelineNumber: Math.floor(number / jobsPerPipeline),
    place: number % jobsPerPipeline,
  };
}
