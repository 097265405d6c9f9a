import { Agent, type AgentInputItem, type Model, RunContext, Runner } from '@openai/agents'
import { describe, expect, it } from 'vitest'
import { AppError, type Toolbox, type ToolResult } from '../../contracts/index.ts'
import { LOOK as tool } from '../../testing/toolbox-tool.ts'
import { agentTools, answerFunctionCalls, answerToolCalls } from './index.ts'

interface Given {
  readonly result?: ToolResult
  readonly error?: AppError
}

function toolboxOf({ result, error }: Given) {
  const inputs: unknown[] = []
  const toolbox = {
    tools: async () => [tool],
    async call(_name: string, input: unknown) {
      inputs.push(input)
      if (error) throw error
      return result ?? { content: [] }
    },
  } as unknown as Toolbox
  return { toolbox, inputs }
}

const ofResponses = (given: string) => ({ type: 'function_call', call_id: 'c1', name: 'look', arguments: given })
const ofChat = (given: string) => ({ id: 'c1', type: 'function', function: { name: 'look', arguments: given } })

/** What the model of each of the three is handed. */
const FACES: Readonly<Record<string, (toolbox: Toolbox, given: string) => Promise<unknown>>> = {
  'the Responses API': async (toolbox, given) => (await answerFunctionCalls(toolbox, [ofResponses(given)]))[0]?.output,
  'Chat Completions': async (toolbox, given) => (await answerToolCalls(toolbox, [ofChat(given)]))[0]?.content,
  'the Agents SDK': async (toolbox, given) => (await agentTools(toolbox))[0]?.invoke(new RunContext(), given),
}

describe.each(Object.entries(FACES))('%s', (_name, answer) => {
  it('says that an error is one, whatever broke on the way', async () => {
    const { toolbox } = toolboxOf({ error: new AppError('DEPENDENCY_UNAVAILABLE', 'Nobody answers.') })
    expect(await answer(toolbox, '{}')).toMatch(/^Error: DEPENDENCY_UNAVAILABLE: Nobody answers\./)
  })

  it.each(['null', '{}', ''])('takes %j for no arguments', async given => {
    const { toolbox, inputs } = toolboxOf({})
    await answer(toolbox, given)
    expect(inputs.map(input => input ?? {})).toEqual([{}])
  })

  it('leaves it to the call path to refuse what is no JSON', async () => {
    const { toolbox, inputs } = toolboxOf({})
    await answer(toolbox, 'no json')
    expect(inputs).toEqual(['no json'])
  })
})

/** A run of the Agents SDK whose model calls the tool once, and what it is answered. */
async function answeredInRun(toolbox: Toolbox, given: string): Promise<string> {
  const model: Model = {
    async getResponse({ input }) {
      const answers = (input as AgentInputItem[]).filter(({ type }) => type === 'function_call_result')
      const call = { type: 'function_call', callId: 'c1', name: 'look', status: 'completed', arguments: given } as const
      const content = [{ type: 'output_text' as const, text: JSON.stringify(answers) }]
      const said = { type: 'message', role: 'assistant', status: 'completed', content } as const
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
      return { usage, output: [answers.length === 0 ? call : said] } as never
    },
    async *getStreamedResponse() {},
  }
  const agent = new Agent({ name: 'worker', model, tools: await agentTools(toolbox) })
  const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'Go on.')
  return String(finalOutput)
}

it('has the Agents SDK itself tell its model of arguments that are no JSON, and its run goes on', async () => {
  const { toolbox, inputs } = toolboxOf({})
  for (const given of ['{"a":', '']) expect(await answeredInRun(toolbox, given)).toMatch(/JSON/)
  expect(inputs).toEqual([])
})

it('shows a tool to the model of the Agents SDK that nobody can be asked about now, and ends no run for it', async () => {
  const { toolbox } = toolboxOf({ error: new AppError('DEPENDENCY_UNAVAILABLE', 'Nobody answers.') })
  const tools = toolbox.tools
  let asked = 0
  const lost = { ...toolbox, tools: async () => (asked++ === 0 ? tools() : Promise.reject(new Error('lost'))) }
  expect(await answeredInRun(lost, '{}')).toContain('DEPENDENCY_UNAVAILABLE')
})

it.each([
  ['the Responses API', (box: Toolbox, key: string) => answerFunctionCalls(box, CALLS, { idempotencyKey: key })],
  ['Chat Completions', (box: Toolbox, key: string) => answerToolCalls(box, CHAT_CALLS, { idempotencyKey: key })],
])('%s makes each call under a key of its own', async (_face, answer) => {
  const keys: unknown[] = []
  const call = async (_name: string, _input: unknown, options: { idempotencyKey?: string }) => {
    keys.push(options.idempotencyKey)
    return { content: [] }
  }
  const toolbox = { tools: async () => [tool], call } as unknown as Toolbox
  await answer(toolbox, 'turn-1')
  const [first, second, none, odd] = keys.splice(0)
  expect([first, second, none]).toEqual(['turn-1/c1', 'turn-1/c2', 'turn-1/2'])
  expect(odd).toMatch(/^turn-1\/[\w-]{43}$/)
  await answer(toolbox, 'k'.repeat(255))
  expect(new Set(keys).size).toBe(4)
  for (const key of keys) expect(key).toMatch(/^[\x21-\x7e]{1,255}$/)
})

const IDS = ['c1', 'c2', '', 'c 4']
const CALLS = IDS.map(call_id => ({ ...ofResponses('{}'), call_id }))
const CHAT_CALLS = IDS.map(id => ({ ...ofChat('{}'), id }))

it('hands over the files that the API takes, by their names, and names the others', async () => {
  const resource = (uri: string, mimeType: string) =>
    ({ type: 'resource', resource: { uri, mimeType, blob: 'AAAA' } }) as const
  const content = [
    resource('https://example.com/files/report.pdf', 'application/pdf'),
    resource('desk:list', 'text/csv'),
    resource('desk:tools.zip', 'application/zip'),
    { type: 'image', mimeType: 'image/svg+xml', data: 'AAAA' } as const,
    { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' } as const,
  ]
  const { toolbox } = toolboxOf({ result: { content } })
  const told = await FACES['the Responses API']?.(toolbox, '{}')
  expect(told).toEqual([
    { type: 'input_file', filename: 'report.pdf', file_data: 'data:application/pdf;base64,AAAA' },
    { type: 'input_file', filename: 'list.csv', file_data: 'data:text/csv;base64,AAAA' },
    { type: 'input_text', text: '[application/zip tools.zip]' },
    { type: 'input_text', text: '[image/svg+xml]' },
    { type: 'input_text', text: '[audio/wav]' },
  ])
  expect(await FACES['the Agents SDK']?.(toolbox, '{}')).toMatchObject([
    { type: 'file', file: { filename: 'report.pdf' } },
    { type: 'file', file: { filename: 'list.csv' } },
    { type: 'text' },
    { type: 'text' },
    { type: 'text' },
  ])
})

it('has tools for the Agents SDK that its types take', async () => {
  const { toolbox } = toolboxOf({})
  expect(new Agent({ name: 'worker', tools: await agentTools(toolbox) }).tools).toHaveLength(1)
})

const picture: ToolResult = {
  isError: true,
  content: [
    { type: 'text', text: 'It looks wrong:' },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  ],
}

it('hands over the picture of an error where there is a place for it, and names it where there is none', async () => {
  const { toolbox } = toolboxOf({ result: picture })
  const told = await Promise.all(Object.values(FACES).map(answer => answer(toolbox, '{}')))
  expect(told).toEqual([
    [
      { type: 'input_text', text: 'Error: It looks wrong:' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
    ],
    'Error: It looks wrong:\n[image/png]',
    [
      { type: 'text', text: 'Error: It looks wrong:' },
      { type: 'image', image: { data: 'AAAA', mediaType: 'image/png' } },
    ],
  ])
})

it('says of a picture alone that it is an error', async () => {
  const [, image] = picture.content
  const { toolbox } = toolboxOf({ result: { isError: true, content: image ? [image] : [] } })
  const [first] = await answerFunctionCalls(toolbox, [ofResponses('{}')])
  expect(first?.output).toMatchObject([{ type: 'input_text', text: 'Error:' }, { type: 'input_image' }])
})

it('answers a message of Chat Completions call by call, and one without calls with nothing', async () => {
  const { toolbox } = toolboxOf({ result: { content: [{ type: 'text', text: 'seen' }] } })
  const other = { id: 'c2', type: 'custom', custom: { name: 'look', input: '' } }
  expect(await answerToolCalls(toolbox, [ofChat('{}'), other])).toEqual([
    { role: 'tool', tool_call_id: 'c1', content: 'seen' },
  ])
  expect(await answerToolCalls(toolbox, undefined)).toEqual([])
})
