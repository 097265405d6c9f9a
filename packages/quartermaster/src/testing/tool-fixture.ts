import { AppError, type ToolResult } from '../contracts/index.ts'
import type { AnyTool, CallContext, DescribedSchema } from '../core/catalogue/index.ts'
import { collectedLog } from './collected-log.ts'

/** What a tool said, in the parts that tests look at. */
export interface Said {
  readonly ok: boolean
  readonly text: string
  readonly data: Record<string, unknown>
  readonly result: ToolResult
}

/** What a handler is told beside its input, where nothing of it matters. */
export function plainContext(config: unknown): CallContext {
  const unavailable = async () => {
    throw new AppError('ANSWER_UNAVAILABLE', 'Nobody answers in a test.')
  }
  return {
    caller: { kind: 'agent', organisation: 'default', name: 'tester', workspace: 'tester' },
    client: 'client_1',
    config,
    signal: new AbortController().signal,
    deadline: Date.now() + 30_000,
    operationId: 'op_1',
    idempotencyKey: 'key_1',
    progress: () => {},
    ask: unavailable,
    canAnswer: () => false,
    call: unavailable,
    operation: async () => undefined,
    waitingOperations: async () => [],
    resultPage: unavailable,
    missingEffects: [],
    log: collectedLog().log,
  }
}

/** Runs a tool's handler on input that its schema accepts, and checks what it answers. */
export async function callTool(tool: AnyTool, input: object, context: CallContext): Promise<Said> {
  const checked = await check(tool.input, input)
  const result = (await tool.handler(checked as never, context as never)) as ToolResult
  if (!result.isError) await check(tool.output, result.structuredContent)
  const texts = result.content.flatMap(block => (block.type === 'text' ? [block.text] : []))
  return {
    ok: !result.isError,
    text: texts.join('\n'),
    data: (result.structuredContent ?? {}) as Record<string, unknown>,
    result,
  }
}

async function check(schema: unknown, value: unknown): Promise<unknown> {
  const checked = await (schema as DescribedSchema)['~standard'].validate(value)
  if (checked.issues) throw new AppError('INPUT_INVALID', JSON.stringify(checked.issues))
  return checked.value
}
