import { ToolMessage } from '@langchain/core/messages'
import { expect, it } from 'vitest'
import { AppError, type Toolbox, type ToolboxTool, type ToolResult } from '../../contracts/index.ts'
import { errorResult } from '../../core/kernel/index.ts'
import { langchainTools } from './index.ts'

const tool: ToolboxTool = {
  name: 'look',
  title: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: {} },
  mutates: false,
  idempotent: true,
}

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
