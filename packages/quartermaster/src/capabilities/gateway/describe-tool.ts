import { z } from 'zod'
import { MissingDependency, RetryPolicy, TOOL_NAMES, ToolExample } from '../../contracts/index.ts'
import type { GatewayConfig, Grant } from '../../core/agents/index.ts'
import { type CallContext, defineForwardingTool, defineTool } from '../../core/catalogue/index.ts'
import { grantsNamed, stateOf, ToolName, ToolState } from './granted.ts'

const MOST = 10

const Input = z
  .strictObject({
    name: ToolName.optional(),
    names: z.array(ToolName).min(1).max(MOST).optional().describe(`Several names at once, up to ${MOST}.`),
  })
  .refine(({ name, names }) => (name === undefined) !== (names === undefined), 'Give either "name" or "names".')

const JsonSchema = z.record(z.string(), z.unknown())

const Description = ToolState.extend({
  name: z.string(),
  title: z.string(),
  short: z.string(),
  whenToUse: z.string().describe('When to use it, what comes back, what it is not.'),
  section: z.string(),
  capability: z.string(),
  missing: z.array(MissingDependency).optional().describe('What a disabled tool lacks.'),
  inputSchema: JsonSchema.describe('JSON Schema of the arguments for call_tool.'),
  outputSchema: JsonSchema.optional().describe('JSON Schema of what comes back as structured content.'),
  examples: z.array(ToolExample),
  mutates: z.boolean().describe('Whether a call may change something.'),
  idempotent: z.boolean().describe('Whether doing it twice is the same as once.'),
  retry: RetryPolicy,
  consent: z.array(z.string()).describe('What a person may have to allow before it runs.'),
  timeoutMs: z.number().int(),
  maxResultBytes: z.number().int(),
})

const Output = z.object({ tools: z.array(Description) })

/** The tool that describes other tools. */
export function createDescribeTool() {
  return defineTool({
    name: TOOL_NAMES.describe,
    title: 'Describe a tool',
    short:
      'Tells all that is needed to call a tool that find_tools named: its arguments, what comes back, examples, state.',
    whenToUse:
      'After find_tools and before the first call_tool of a tool. ' +
      'Comes back with the JSON Schema of its arguments and of its answer, examples, whether it changes something or ' +
      'needs a person to allow it, and why it is disabled if it is. Takes up to ten names at once. ' +
      'It does not search: a name that you do not have is an error that suggests the closest one.',
    section: 'gateway',
    command: { none: 'Every command has --help, and quartermaster tools NAME tells all about a tool.' },
    input: Input,
    output: Output,
    examples: [
      { query: 'how is read_file called?', input: { name: 'read_file' } },
      { query: 'two at once', input: { names: ['read_file', 'write_file'] } },
    ],
    mutates: false,
    handler({ name, names = [] }, { config }: CallContext<GatewayConfig>) {
      const wanted = name === undefined ? [...new Set(names)] : [name]
      return { tools: grantsNamed(config, wanted).map(grant => describe(grant, config)) }
    },
  })
}

function describe({ tool, capability }: Grant, config: GatewayConfig): z.infer<typeof Description> {
  const { name, title, short, whenToUse, section, mutates, idempotent, retry, timeoutMs, maxResultBytes } = tool
  const state = stateOf(tool, config)
  return {
    name,
    title,
    short,
    whenToUse,
    section,
    capability,
    ...state,
    ...(state.state === 'disabled' ? { missing: config.health.missing(tool) } : {}),
    inputSchema: { ...tool.inputSchema },
    ...(tool.outputSchema ? { outputSchema: { ...tool.outputSchema } } : {}),
    examples: [...tool.examples],
    mutates,
    idempotent,
    retry,
    consent: [...tool.consent],
    timeoutMs,
    maxResultBytes,
  }
}

const CallInput = z.strictObject({
  name: ToolName,
  arguments: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Its arguments, as the inputSchema from describe_tool says. Nothing when it takes none.'),
})

/** The tool that forwards a call to another tool, whose rules apply in every respect. */
export function createCallTool() {
  return defineForwardingTool({
    name: TOOL_NAMES.call,
    title: 'Call a tool',
    short:
      'Calls one of the tools you were given here, by its name and with its arguments, and answers what that tool answers.',
    whenToUse:
      'When you know the name (find_tools) and the arguments (describe_tool). ' +
      'Comes back with exactly what the tool itself gives: its result, its questions, its progress, its errors. ' +
      'A disabled tool is checked again before it is refused. ' +
      'It cannot call itself, and a name that you do not have is an error that suggests the closest one.',
    section: 'gateway',
    command: { none: 'Every tool is called by its own command, or with quartermaster call NAME.' },
    input: CallInput,
    examples: [
      { query: 'read the notes', input: { name: 'read_file', arguments: { path: 'notes.md' } } },
      { query: 'a tool without arguments', input: { name: 'registry_status' } },
    ],
    // The called tool may change something.
    mutates: true,
    forward: ({ name, arguments: input }) => ({ tool: name, input }),
  })
}
