import { type Names, projectPath } from "../common/address.ts";

export const pipelinesPath = (of: Names): string => `${projectPath(of)}/cicd/pipeline`;
export const schedulesPath = (of: Names): string => `${projectPath(of)}/cicd/schedule`;

export const schedulePath = (of: Names, id: string): string =>
  `${schedulesPath(of)}/${encodeURIComponent(id)}`;

export const variablesPath = (of: Names): string => `${projectPath(of)}/setting/cicd/variable`;

export const variablePath = (of: Names, id: string): string =>
  `${variablesPath(of)}/${encodeURIComponent(id)}`;

export const triggersPath = (of: Names): string => `${projectPath(of)}/cicd/trigger`;
export const agentsPath = (of: Names): string => `${projectPath(of)}/runners`;

export const agentPath = (of: Names, id: string): string =>
  `${agentsPath(of)}/${encodeURIComponent(id)}`;
