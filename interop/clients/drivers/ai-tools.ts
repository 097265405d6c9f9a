import { aiTools } from 'quartermaster/ai'
import type { InteropClient } from '../client.ts'
import { callByModel } from './ai-sdk.ts'
import { connectToolbox } from './toolbox.ts'

/** The AI SDK with our own tools for it: a scripted model calls them in the SDK's own loop. */
export const aiSdkWithTools: InteropClient = {
  name: 'the AI SDK with quartermaster/ai',
  skills: ['structured', 'failures', 'changes', 'answers'],
  connect: options =>
    connectToolbox(
      options,
      toolbox => async (name, input, signal) => callByModel(await aiTools(toolbox), name, input, signal),
    ),
}
