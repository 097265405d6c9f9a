import { Agent, RunContext } from '@openai/agents'
import { describe, expect, it } from 'vitest'
import { AppError, type Toolbox, type ToolboxTool, type ToolResult } from '../../contracts/index.ts'
import { agentTools, answerFunctionCalls, answerToolCalls } from './index.ts'

const tool: ToolboxTool = {
  name: 'look',
  title: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: {} },
  mutates: false,
  idempotent: true,
}

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

  it.each(['', 'null', '{}'])('takes %j for no arguments', async given => {
    const { toolbox, inputs } = toolboxOf({})
    await answer(toolbox, given)
    expect(inputs).toEqual([{}])
  })
})

it('lets a tool of the Agents SDK refuse what is no JSON, and does not end the run of the agent for it', async () => {
  const { toolbox, inputs } = toolboxOf({ error: new AppError('INPUT_INVALID', 'It must be an object.') })
  expect(await FACES['the Agents SDK']?.(toolbox, '{"a":')).toMatch(/^Error: INPUT_INVALID/)
  expect(inputs).toEqual(['{"a":'])
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
