export { promptFor } from './prompt-for.ts'
export { renderPrompt } from './render-prompt.ts'
