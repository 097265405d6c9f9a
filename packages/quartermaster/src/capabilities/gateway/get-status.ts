import { z } from 'zod'
import {
  AppError,
  KEPT_META,
  KeptResult,
  MissingDependency,
  type OperationFacts,
  OperationState,
  type OperationSummary,
  type ResultPage,
  TOOL_NAMES,
  ToolResult,
} from '../../contracts/index.ts'
import type { GatewayConfig } from '../../core/agents/index.ts'
import { type CallContext, defineTool, type Tool, toolResult } from '../../core/catalogue/index.ts'
import { binaryIn, withoutBinary, withoutSucceededMeta } from '../../core/kernel/index.ts'
import { grantsNamed, line, stateOf, ToolName, ToolState } from './granted.ts'

/** More entries would not help a model. */
const MOST = 100
const REASON_CHARACTERS = 500

/** Contains the result of another tool as text and as structure, which must not be cut a second time. */
const MOST_BYTES = 2 * 1_024 * 1_024

const OperationId = z.string().min(1).max(128)

const Input = z.strictObject({
  name: ToolName.optional().describe('Only this tool; all of yours when left out.'),
  id: OperationId.optional().describe(
    'Only this operation, by the id that a call which waits was answered with; its result when it has ended.',
  ),
  operationId: OperationId.optional().describe('The same as "id".'),
  offset: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .describe('Of an operation whose result is cut: the result from here on, as "nextOffset" said.'),
})
type Input = z.infer<typeof Input>

const ToolStatus = ToolState.extend({
  name: z.string(),
  missing: z.array(MissingDependency).describe('What it lacks or waits for, each with its reason.'),
  nextRecheckAt: z.number().optional().describe('From when on it can be checked again, in epoch milliseconds.'),
})
type ToolStatus = z.infer<typeof ToolStatus>

/** An operation as its agent sees it. */
const OperationStatus = z.object({
  id: z.string(),
  tool: z.string(),
  state: OperationState,
  outcome: z.enum(['succeeded', 'failed', 'unknown']).optional().describe('What is known about what it did.'),
  attempts: z.number().int().optional().describe('How often it was run.'),
  nextAttemptAt: z.number().optional().describe('When it is tried again, in epoch milliseconds.'),
  error: z.object({ code: z.string(), message: z.string() }).optional().describe('Why it was not done, or not yet.'),
  result: ToolResult.optional().describe('What the tool answered; pictures and files stand beside this.'),
  nextOffset: z.number().int().optional().describe('Where a result goes on that is cut here: ask again with it.'),
})
type OperationStatus = z.infer<typeof OperationStatus>

const Output = z.object({
  active: z.number().int().describe('How many of these tools work.'),
  disabled: z.number().int(),
  tools: z.array(ToolStatus).describe('The tools that do not work or are recovering, and always the named one.'),
  more: z.number().int().optional().describe('How many further ones do not fit in here.'),
  withheld: z
    .array(z.object({ tool: z.string(), capability: z.string(), reason: z.string() }))
    .optional()
    .describe('Tools you should have and do not: a person has to fix it.'),
  operations: z.array(OperationStatus).optional().describe('The named operation, or all of yours that wait.'),
})
type Output = z.infer<typeof Output>

/** The tool that shows which tools work and how waiting operations stand. */
export function createGetStatus() {
  return defineTool({
    name: TOOL_NAMES.status,
    title: 'Get the status of tools',
    short:
      'Shows which of your tools do not work right now and why, and the state of calls that were answered with an id to wait for.',
    whenToUse:
      'When a call failed because a tool is disabled, before work that depends on several tools, ' +
      'or to see the state or result of a call that waits: give its id. ' +
      'Comes back with how many work, and each one that does not with what it lacks and when it may be checked again. ' +
      'It checks nothing again: calling a disabled tool does. It says nothing about tools that you were not given.',
    section: 'gateway',
    command: {
      none: 'Use quartermaster tools --state disabled for what does not work; the owner also has quartermaster operations show ID.',
    },
    input: Input,
    output: Output,
    examples: [
      { query: 'is anything broken?', input: {} },
      { query: 'why can I not send mail?', input: { name: 'send_mail' } },
      { query: 'was the mail sent by now?', input: { id: 'op_mhzk3vq19fGkXw2LrTzPqAbC' } },
    ],
    mutates: false,
    maxResultBytes: MOST_BYTES,
    async handler(input, context: CallContext<GatewayConfig>) {
      const status = await findStatus(input, context)
      const { operations = [] } = status
      const text = { type: 'text' as const, text: textOf(status) }
      return operations.length === 0
        ? toolResult({ content: [text], structuredContent: status })
        : toolResult({
            content: [text, ...operations.flatMap(binaryBlocks)],
            structuredContent: { ...status, operations: operations.map(withoutBlocks) },
          })
    },
  })
}

async function findStatus(input: Input, context: CallContext<GatewayConfig>): Promise<Output> {
  const { name, operationId, id = operationId, offset } = input
  const { config } = context
  if (id !== undefined) {
    const tools = name === undefined ? NO_TOOLS : statusOfOne(name, config)
    return { ...tools, operations: [await operationStatus({ id, offset }, context)] }
  }
  if (name !== undefined) return statusOfOne(name, config)
  const operations = await waitingStatus(context)
  return operations.length > 0 ? { ...statusOfAll(config), operations } : statusOfAll(config)
}

const NO_TOOLS: Output = { active: 0, disabled: 0, tools: [] }

function statusOfOne(name: string, config: GatewayConfig): Output {
  const tools = grantsNamed(config, [name]).map(({ tool }) => statusOfTool(tool, config))
  const active = tools.filter(one => one.state === 'active').length
  return { active, disabled: tools.length - active, tools }
}

function statusOfAll(config: GatewayConfig): Output {
  const { grants, health } = config
  const tools = [...grants.values()].map(({ tool }) => tool)
  const disabled = tools.filter(tool => !health.availability(tool).active)
  const recovering = tools.filter(tool => health.availability(tool).recovering)
  const troubled = [...disabled, ...recovering]
  return {
    active: tools.length - disabled.length,
    disabled: disabled.length,
    tools: troubled.slice(0, MOST).map(tool => statusOfTool(tool, config)),
    ...(troubled.length > MOST ? { more: troubled.length - MOST } : {}),
    ...(config.withheld.length > 0 ? { withheld: withheldOf(config) } : {}),
  }
}

function statusOfTool(tool: Tool, config: GatewayConfig): ToolStatus {
  const missing = config.health.missing(tool, { withRecovering: true })
  const times = missing.flatMap(one => one.nextRecheckAt ?? [])
  const next = times.length === 0 ? {} : { nextRecheckAt: Math.min(...times) }
  return { name: tool.name, ...stateOf(tool, config), missing, ...next }
}

function withheldOf({ withheld }: GatewayConfig): NonNullable<Output['withheld']> {
  return withheld.slice(0, MOST).map(({ tool, capability, reason = '' }) => ({ tool, capability, reason }))
}

function textOf({ active, disabled, tools, more, withheld = [], operations = [] }: Output): string {
  const lines = [
    active + disabled > 0 || operations.length === 0 ? `${active} active, ${disabled} disabled.` : '',
    ...tools.map(statusLine),
    more === undefined ? '' : `[${more} more are not shown; name one to see it.]`,
    ...withheld.map(one => `- ${one.tool} of ${one.capability}: withheld. ${line(one.reason, REASON_CHARACTERS)}`),
    ...operations.map(operationText),
  ]
  return lines.filter(text => text !== '').join('\n')
}

function statusLine({ name, state, reason, nextRecheckAt }: ToolStatus): string {
  const why = reason === undefined ? '' : ` ${line(reason, REASON_CHARACTERS)}`
  const next =
    state === 'active' || nextRecheckAt === undefined
      ? ''
      : ` It can be checked again from ${new Date(nextRecheckAt).toISOString()} on.`
  return `- ${name}: ${state}.${why}${next}`
}

const ERROR_CHARACTERS = 500

/** One operation of the caller, with its result from `offset` on. Throws `NAME_UNKNOWN`, also for those of other callers. */
async function operationStatus(
  { id, offset }: { readonly id: string; readonly offset: number | undefined },
  { operation, resultPage }: CallContext,
): Promise<OperationStatus> {
  const facts = await operation(id)
  if (facts)
    return { ...statusOf(facts), ...(offset === undefined ? resultOf(facts) : pageOf(await resultPage(id, offset))) }
  const message = `You have no operation "${id}". Calls that only read leave none, and old operations are deleted.`
  throw new AppError('NAME_UNKNOWN', message)
}

async function waitingStatus({ waitingOperations }: CallContext): Promise<OperationStatus[]> {
  return (await waitingOperations()).map(({ id, tool, state }: OperationSummary) => ({ id, tool, state }))
}

function statusOf({ id, tool, state, outcome, attempts, dueAt, error }: OperationFacts): OperationStatus {
  return {
    id,
    tool,
    state,
    attempts,
    ...(outcome === undefined ? {} : { outcome }),
    ...(dueAt === undefined ? {} : { nextAttemptAt: dueAt }),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
  }
}

type ResultPart = Pick<OperationStatus, 'result' | 'nextOffset'>

/** The result, with `nextOffset` in place of the stored note on where the rest is. */
function resultOf(facts: OperationFacts): ResultPart {
  if (facts.result === undefined) return {}
  const result = withoutSucceededMeta(facts.result)
  const { [KEPT_META]: meta, ...others } = result._meta ?? {}
  const kept = KeptResult.safeParse(meta)
  return kept.success ? { result: { ...result, _meta: others }, nextOffset: kept.data.nextOffset } : { result }
}

function pageOf({ text, nextOffset }: ResultPage): ResultPart {
  const result = { content: [{ type: 'text' as const, text }] }
  return nextOffset === undefined ? { result } : { result, nextOffset }
}

/** Images, sounds and files of the result. Clients do not show them inside structured content. */
function binaryBlocks({ result }: OperationStatus): ToolResult['content'] {
  return result?.content.filter(block => binaryIn(block)) ?? []
}

/** The operation without the base64 of these blocks. */
function withoutBlocks(status: OperationStatus): OperationStatus {
  const { result } = status
  if (!result || binaryBlocks(status).length === 0) return status
  const content = result.content.map(block => (binaryIn(block) ? withoutBinary(block) : block))
  return { ...status, result: { ...result, content } }
}

/** The operation as text, with the result of its tool. */
function operationText({ id, tool, state, nextAttemptAt, error, result, nextOffset }: OperationStatus): string {
  const next = nextAttemptAt === undefined ? '' : ` It is tried again at ${new Date(nextAttemptAt).toISOString()}.`
  const why = error === undefined ? '' : ` ${error.code}: ${line(error.message, ERROR_CHARACTERS)}`
  const texts = (result?.content ?? []).flatMap(block => (block.type === 'text' ? [block.text] : []))
  const rest = nextOffset === undefined ? [] : [`[It goes on: ask again with "offset": ${nextOffset}.]`]
  const isBlocked = state === 'queued' && nextAttemptAt === undefined && error !== undefined
  const how = isBlocked ? 'waits for what it needs, and runs automatically. Do not call it again.' : IN_WORDS[state]
  return [`- ${id} (${tool}): ${how}${next}${why}`, ...texts, ...rest].join('\n')
}

const IN_WORDS: Readonly<Record<OperationState, string>> = {
  waitingForApproval: 'waits for a person to allow it. Do not call it again.',
  queued: 'waits to be tried again. Do not call it again.',
  leased: 'is running.',
  succeeded: 'done.',
  failed: 'failed.',
  denied: 'was not allowed.',
  exhausted: 'failed after its last attempt.',
  expired: 'expired.',
  cancelled: 'cancelled.',
  unknown: 'may have done its work or not. Look before you call it again.',
}
