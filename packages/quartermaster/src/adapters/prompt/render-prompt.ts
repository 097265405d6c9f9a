import type { AgentPrompt, PromptOptions, Toolbox } from '../../contracts/index.ts'
import { promptFor } from './prompt-for.ts'

/** What the agent of a toolbox has now, as a block for its system prompt. */
export async function renderPrompt(toolbox: Pick<Toolbox, 'view'>, options?: PromptOptions): Promise<AgentPrompt> {
  return promptFor(await toolbox.view(), options)
}
