import { isAppError, type Toolbox, type ToolboxCallOptions, type ToolResult } from '../../contracts/index.ts'
import { readableOn } from './cut-result.ts'
import { errorResult } from './error-result.ts'

export interface ModelCall extends ToolboxCallOptions {
  readonly name: string
  readonly input: unknown
}

/**
 * A call that a model makes through tools which a framework was handed earlier. Whatever came of it is an answer for the model,
 * also that the tool has gone or that nobody answers: thrown, it would end the whole run of the agent, beside other calls that
 * have their answers. Only whoever has cancelled it waits for none.
 */
export async function callForModel(toolbox: Toolbox, { name, input, ...options }: ModelCall): Promise<ToolResult> {
  try {
    return await readableOn(await toolbox.call(name, input, options), toolbox)
  } catch (error) {
    if (!isAppError(error) || error.code === 'CANCELLED' || options.signal?.aborted) throw error
    return errorResult(error)
  }
}
