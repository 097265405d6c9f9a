export { renderPrompt } from './adapters/prompt/index.ts'
export type { AgentPrompt, AgentView, PromptOptions } from './contracts/index.ts'
