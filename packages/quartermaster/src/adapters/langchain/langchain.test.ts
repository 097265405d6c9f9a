import { convertToProviderContentBlock, isDataContentBlock, ToolMessage } from '@langchain/core/messages'
import { expect, it } from 'vitest'
import { AppError, type Toolbox, type ToolResult } from '../../contracts/index.ts'
import { errorResult } from '../../core/kernel/index.ts'
import { LOOK as tool } from '../../testing/toolbox-tool.ts'
import { langchainTools } from './index.ts'

async function calledByProgram(call: () => Promise<ToolResult>): Promise<unknown> {
  const [held] = await langchainTools({ tools: async () => [tool], call } as unknown as Toolbox)
  return held?.invoke({}).then(
    () => undefined,
    (error: unknown) => error,
  )
}

it('throws to a program the error of the toolbox itself, with its code and what caused it', async () => {
  const lost = new AppError('DEPENDENCY_UNAVAILABLE', 'Nobody answers.', { cause: new Error('ECONNREFUSED') })
  expect(await calledByProgram(() => Promise.reject(lost))).toBe(lost)
})

it('throws to a program what could not be run, with its code and details', async () => {
  const refused = new AppError('INPUT_INVALID', 'Wrong.', { details: { issues: [] } })
  const error = await calledByProgram(async () => errorResult(refused))
  expect(error).toMatchObject({ code: 'INPUT_INVALID', details: { issues: [] } })
  expect((error as Error).message).toBe('Wrong.')
})

it('throws to a program what a tool says no with, and the whole result beside it', async () => {
  const no: ToolResult = { isError: true, content: [{ type: 'text', text: 'I would rather not.' }] }
  const error = (await calledByProgram(async () => no)) as Error
  expect([error.message, error.cause]).toEqual(['I would rather not.', no])
})

it('answers a model with a message as well where LangChain takes an input for wrong and the call path does not', async () => {
  const strict = { ...tool, inputSchema: { type: 'object', properties: {}, required: ['path'] } }
  const call = async () => ({ content: [{ type: 'text', text: 'seen' }] })
  const [held] = await langchainTools({ tools: async () => [strict], call } as unknown as Toolbox)
  const answer: unknown = await held?.invoke({ type: 'tool_call', id: 'call_1', name: 'look', args: {} })
  expect(ToolMessage.isInstance(answer) && [answer.content, answer.status, answer.tool_call_id]).toEqual([
    'seen',
    'success',
    'call_1',
  ])
})

it('calls a tool whose schema LangChain cannot read', async () => {
  const path = { type: 'string', pattern: '^[\\w-.]+$' }
  const odd = { ...tool, inputSchema: { type: 'object', properties: { path } } }
  const call = async () => ({ content: [{ type: 'text', text: 'seen' }] })
  const [held] = await langchainTools({ tools: async () => [odd], call } as unknown as Toolbox)
  const answer: unknown = await held?.invoke({ type: 'tool_call', id: 'call_1', name: 'look', args: { path: 'a.b' } })
  expect(ToolMessage.isInstance(answer) && answer.content).toBe('seen')
})

it.each([
  ['handleToolStart', 0],
  ['handleToolEnd', 1],
])('throws what a callback throws at %s, and has called %i times', async (at, times) => {
  let calls = 0
  const call = async () => {
    calls++
    return { content: [] }
  }
  const [held] = await langchainTools({ tools: async () => [tool], call } as unknown as Toolbox)
  const handler = {
    name: 'mine',
    raiseError: true,
    awaitHandlers: true,
    [at]: () => Promise.reject(new Error('mine')),
  }
  const asked = { type: 'tool_call', id: 'call_1', name: 'look', args: {} }
  for (const input of [{}, asked, { ...asked, args: { odd: undefined } }]) {
    calls = 0
    await expect(held?.invoke(input, { callbacks: [handler as never] })).rejects.toThrow('mine')
    expect(calls).toBe(times)
  }
})

/** As the providers of LangChain read what stands in the answer of a tool: what is no data block they drop or pass on as it is. */
const PROVIDER = {
  providerName: 'test',
  fromStandardTextBlock: ({ text }: { text: string }) => ({ type: 'text', text }),
  fromStandardImageBlock: (block: Record<string, unknown>) => ({ picture: [block.mime_type, block.data] }),
  fromStandardFileBlock: (block: { mime_type?: string; metadata?: Record<string, unknown> }) => {
    if (block.mime_type !== 'application/pdf') throw new Error(`Unsupported: ${block.mime_type}`)
    return { file: [block.mime_type, block.metadata?.filename] }
  },
}

it('hands over pictures and documents as providers convert them, and names what none of them takes', async () => {
  const resource = (uri: string, mimeType: string) => ({ type: 'resource', resource: { uri, mimeType, blob: 'BBBB' } })
  const content = [
    { type: 'text', text: 'Look:' },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    resource('desk:report', 'application/pdf'),
    resource('desk:tools.zip', 'application/zip'),
    { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
  ]
  const [held] = await langchainTools({
    tools: async () => [tool],
    call: async () => ({ content }),
  } as unknown as Toolbox)
  const answer: unknown = await held?.invoke({ type: 'tool_call', id: 'call_1', name: 'look', args: {} })
  if (!ToolMessage.isInstance(answer) || typeof answer.content === 'string') throw new Error('No blocks came.')
  const converted = answer.content.map(block =>
    isDataContentBlock(block) ? convertToProviderContentBlock(block, PROVIDER as never) : block,
  )
  expect(converted).toEqual([
    { type: 'text', text: 'Look:' },
    { picture: ['image/png', 'AAAA'] },
    { file: ['application/pdf', 'report.pdf'] },
    { type: 'text', text: '[application/zip tools.zip]' },
    { type: 'text', text: '[audio/wav]' },
  ])
  // The other way to read them.
  expect(answer.contentBlocks).toMatchObject([
    { type: 'text' },
    { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    { type: 'file', mimeType: 'application/pdf', data: 'BBBB' },
    { type: 'text' },
    { type: 'text' },
  ])
})
