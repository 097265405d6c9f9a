import { type Dialect, sendEvents, sendJson, startModel } from './model-server.ts'
import type { Script, ScriptedModel, Step, Turn } from './script.ts'

interface OfferedTool {
  readonly type?: string
  readonly name?: string
  readonly namespace?: string
  readonly tools?: readonly OfferedTool[]
}

interface Request {
  readonly model: string
  readonly stream?: boolean
  readonly input?: readonly { readonly type?: string; readonly output?: unknown }[] | string
  readonly tools?: readonly OfferedTool[]
}

/** A model that speaks OpenAI's Responses; `url` is the base URL for clients. */
export async function startScriptedResponses(script: Script): Promise<ScriptedModel> {
  const model = await startModel(RESPONSES, script)
  return { ...model, url: `${model.url}/v1` }
}

const RESPONSES: Dialect<Request> = {
  path: '/responses',
  turnOf: request => ({ tools: toolsOf(request).map(nameOf), outputs: outputsOf(request) }),
  answer(outgoing, { request, turn, number, step }) {
    const item = step ? callItem(request, step, number) : closingItem(turn, number)
    const response = responseOf(request, item)
    if (!request.stream) return sendJson(outgoing, response)
    const events = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ]
    sendEvents(
      outgoing,
      events.map((event, index) => ({ ...event, sequence_number: index })),
    )
  },
}

function toolsOf({ tools = [] }: Request): OfferedTool[] {
  return tools.flatMap(tool => (tool.type === 'namespace' ? insideOf(tool) : [tool]))
}

/** Some clients put the tools of a server below a name of their own, and want to hear it again in a call. */
function insideOf({ name, tools = [] }: OfferedTool): OfferedTool[] {
  return tools.map(tool => ({ ...tool, ...(name ? { namespace: name } : {}) }))
}

function nameOf({ name, namespace, type = '' }: OfferedTool): string {
  return [namespace, name ?? type].filter(Boolean).join('.')
}

function outputsOf({ input }: Request): string[] {
  if (!Array.isArray(input)) return []
  const outputs = input.filter(({ type }) => type?.endsWith('_call_output')).map(({ output }) => output)
  return outputs.map(output => (typeof output === 'string' ? output : JSON.stringify(output)))
}

function callItem(request: Request, { tool, input }: Step, number: number) {
  const offered = toolsOf(request).find(candidate => nameOf(candidate) === tool)
  const name = offered?.name ?? tool
  const namespace = offered?.namespace ? { namespace: offered.namespace } : {}
  const ids = { id: `fc_${number}`, call_id: `call_${number}` }
  return { type: 'function_call', ...ids, name, ...namespace, arguments: JSON.stringify(input), status: 'completed' }
}

function closingItem({ outputs }: Turn, number: number) {
  const content = [{ type: 'output_text', text: `Done: ${outputs.at(-1) ?? 'nothing'}`, annotations: [] }]
  return { type: 'message', id: `msg_${number}`, role: 'assistant', status: 'completed', content }
}

const USAGE = {
  input_tokens: 1,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 1,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 2,
}

function responseOf({ model }: Request, item: { readonly id: string }) {
  const fixed = { object: 'response', created_at: 1, parallel_tool_calls: true, tool_choice: 'auto', tools: [] }
  return { id: `resp_${item.id}`, ...fixed, model, status: 'completed', output: [item], usage: USAGE }
}
