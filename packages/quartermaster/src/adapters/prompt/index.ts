export { promptFor, renderPrompt } from './prompt-for.ts'
