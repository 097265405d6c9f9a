import { setTracingDisabled } from '@openai/agents'
import { agentTools } from 'quartermaster/openai'
import type { InteropClient } from '../client.ts'
import { callByModel } from './openai-agents.ts'
import { connectToolbox } from './toolbox.ts'

/** The OpenAI Agents SDK with our own tools for it: a scripted model calls them in the SDK's own loop. */
export const openaiAgentsWithTools: InteropClient = {
  name: 'the OpenAI Agents SDK with quartermaster/openai',
  skills: ['structured', 'changes', 'answers'],
  connect(options) {
    setTracingDisabled(true)
    return connectToolbox(options, toolbox => async (name, input) => {
      const outcome = await callByModel({ tools: await agentTools(toolbox) }, name, input)
      // There is no mark for a failure, so that our tools say it in words.
      return { ...outcome, isError: outcome.text.startsWith('Error: ') }
    })
  },
}
