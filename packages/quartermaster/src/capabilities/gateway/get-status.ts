import { z } from 'zod'
import { MissingDependency, TOLD_TOOLS } from '../../contracts/index.ts'
import type { GatewayConfig } from '../../core/agents/index.ts'
import { type CallContext, defineTool, type Tool, toolResult } from '../../core/catalogue/index.ts'
import { grantsNamed, line, stateOf, ToolName, ToolState } from './granted.ts'
import {
  binaryBlocks,
  OperationStatus,
  operationStatus,
  operationText,
  waitingStatus,
  withoutBlocks,
} from './operation-status.ts'

/** What a model can take in; more of the same would not help it. */
const MOST = 100
const REASON_CHARACTERS = 500

/** The result of another tool stands in here as text and as structure, and is not to be cut a second time. */
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

const One = ToolState.extend({
  name: z.string(),
  missing: z.array(MissingDependency).describe('What it lacks or waits for, each with its reason.'),
  nextRecheckAt: z.number().optional().describe('From when on it can be looked at again, in epoch milliseconds.'),
})
type One = z.infer<typeof One>

const Output = z.object({
  active: z.number().int().describe('How many of the tools looked at work.'),
  disabled: z.number().int(),
  tools: z.array(One).describe('Those that do not work or are recovering; the one that was named in any case.'),
  more: z.number().int().optional().describe('How many further ones do not fit in here.'),
  withheld: z
    .array(z.object({ tool: z.string(), capability: z.string(), reason: z.string() }))
    .optional()
    .describe('What you were meant to have and do not: a person has to fix it.'),
  operations: z.array(OperationStatus).optional().describe('The one that was named, or those of yours that wait.'),
})
type Output = z.infer<typeof Output>

/** The tool that tells what works. */
export function createGetStatus() {
  return defineTool({
    name: TOLD_TOOLS.status,
    title: 'Get the status of tools',
    short:
      'Tells which of the tools you were given here do not work right now and why, and how calls stand that were answered with a handle to wait for.',
    whenToUse:
      'When a call failed because a tool is disabled, before work that depends on several tools, ' +
      'or to see what became of a call that waits: give its id. ' +
      'Comes back with how many work, and each one that does not with what it lacks and when it may be looked at again. ' +
      'It looks at nothing itself: calling a disabled tool does. It says nothing about tools that you were not given.',
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
      const status = await lookedUp(input, context)
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

async function lookedUp(input: Input, context: CallContext<GatewayConfig>): Promise<Output> {
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
  const tools = grantsNamed(config, [name]).map(({ tool }) => statusOf(tool, config))
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
    tools: troubled.slice(0, MOST).map(tool => statusOf(tool, config)),
    ...(troubled.length > MOST ? { more: troubled.length - MOST } : {}),
    ...(config.withheld.length > 0 ? { withheld: withheldOf(config) } : {}),
  }
}

function statusOf(tool: Tool, config: GatewayConfig): One {
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

function statusLine({ name, state, reason, nextRecheckAt }: One): string {
  const why = reason === undefined ? '' : ` ${line(reason, REASON_CHARACTERS)}`
  const next =
    state === 'active' || nextRecheckAt === undefined
      ? ''
      : ` It can be looked at again from ${new Date(nextRecheckAt).toISOString()} on.`
  return `- ${name}: ${state}.${why}${next}`
}
