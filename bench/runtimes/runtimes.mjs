// @ts-check
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { RunContext } from '@openai/agents'
import { aiTools } from 'quartermaster/ai'
import { langchainTools } from 'quartermaster/langchain'
import { agentTools, answerFunctionCalls } from 'quartermaster/openai'

/** @typedef {import('quartermaster').Toolbox} Toolbox */
/** @typedef {import('quartermaster').Quartermaster} Quartermaster */
/** A call of `add`, as a model of that runtime makes it; answers what the model reads. @typedef {(input: { a: number, b: number }) => Promise<unknown>} Call */

/** @param {Toolbox} toolbox @returns {Promise<Call>} */
export async function inLangchain(toolbox) {
  const [tool] = await langchainTools(toolbox)
  return async args => {
    const answer = await tool?.invoke({ type: 'tool_call', id: 'call_1', name: 'add', args })
    return answer.content
  }
}

/** @param {Toolbox} toolbox @returns {Promise<Call>} */
export async function inAiSdk(toolbox) {
  const { add } = await aiTools(toolbox)
  const about = { toolCallId: 'call_1', messages: [], context: {} }
  return async input => {
    const outputs = /** @type {AsyncIterable<unknown> | undefined} */ (
      add?.execute?.(input, /** @type {never} */ (about))
    )
    let output
    for await (output of outputs ?? []);
    return add?.toModelOutput?.(/** @type {never} */ ({ toolCallId: 'call_1', input, output }))
  }
}

/** @param {Toolbox} toolbox @returns {Promise<Call>} */
export async function inFunctions(toolbox) {
  const asked = { type: 'function_call', call_id: 'call_1', name: 'add' }
  return input => answerFunctionCalls(toolbox, [{ ...asked, ...{ arguments: JSON.stringify(input) } }])
}

/** @param {Toolbox} toolbox @returns {Promise<Call>} */
export async function inAgentsSdk(toolbox) {
  const [tool] = await agentTools(toolbox)
  const context = new RunContext()
  return async input => tool?.invoke(context, JSON.stringify(input))
}

/** As the Claude Agent SDK has them, without its program. @param {Quartermaster} host @returns {Promise<Call>} */
export async function inServers(host) {
  const context = host.contextFor('clerk')
  const server = host.resolve(context.agent.capabilities, context).mcpServers.maths
  if (server?.type !== 'sdk') throw new Error('The server is not in this process.')
  const [near, far] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'bench', version: '1' })
  await /** @type {{ connect(transport: unknown): Promise<void> }} */ (server.instance).connect(far)
  await client.connect(near)
  return input => client.callTool({ name: 'add', arguments: input })
}
