export {
  type AgentChange,
  type AgentFiles,
  type AgentFilesOptions,
  agentNames,
  createAgentFiles,
  type EditedAgent,
} from './agent-files.ts'
export { ANY_ANSWER, type ConfigEditor, createConfigEditor, type SetUpstream } from './config-editor.ts'
export type { ProjectChange } from './file-watch.ts'
export { FIRST_AGENT, type InitializedProject, initProject, writeFirstAgent } from './init-project.ts'
export { agentJsonSchema, configJsonSchema } from './json-schemas.ts'
export { type ProjectConfigRead, readProjectConfig } from './project-config.ts'
export type { Environment } from './references.ts'
export type { ReleasedSecrets } from './secret-names.ts'
export { readSecrets, secretsFileIn, secretsProblems } from './secrets-file.ts'
export { CONFIG_FILE, type FoundProject, findProject } from './text-file.ts'
export type { LeftOutUpstream, UpstreamsRead } from './upstream-entries.ts'
