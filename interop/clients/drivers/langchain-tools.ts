import { langchainTools } from 'quartermaster/langchain'
import type { InteropClient } from '../client.ts'
import { callByModel } from './langchain.ts'
import { connectToolbox } from './toolbox.ts'

/** LangChain with our own tools for it: a scripted model calls them in an agent of LangChain's own. */
export const langchainWithTools: InteropClient = {
  name: 'LangChain with quartermaster/langchain',
  skills: ['structured', 'failures', 'changes', 'answers'],
  connect: options =>
    connectToolbox(options, toolbox => async (name, input) => callByModel(await langchainTools(toolbox), name, input)),
}
