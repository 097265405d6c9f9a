import { AppError, type CommandDecision, McpExtras, ToolFacts, UpstreamToolFacts } from '../../contracts/index.ts'
import { checkCommand } from './check-command.ts'
import { checkEffects } from './check-effects.ts'
import { checkMcp } from './check-mcp.ts'
import { checkFields, checkSchema, unionOf } from './check-parts.ts'
import type { Bundle, UnitPlace } from './check-place.ts'
import { CheckedTool } from './checked-tool.ts'
import type { Tool } from './generation.ts'
import type { ProblemList } from './problem-list.ts'
import type { AnyTool } from './tool.ts'

const FIELDS = [...Object.keys(ToolFacts.shape), 'input', 'output', 'handler', 'forward', 'codeHash', 'revision']

/** What a declaration adds to a tool. */
export type Declared = Pick<Tool, 'opId' | 'body' | 'lines'>

/** Checks one tool completely. A bad one is left out, with everything that is wrong with it in the problems. */
export function checkTool(
  definition: AnyTool,
  bundle: Bundle,
  place: UnitPlace,
  declared?: Declared,
): Tool | undefined {
  const { problems } = place
  const subject = `tool:${String(definition?.name)}`
  const before = problems.errors
  if (typeof definition !== 'object' || definition === null) {
    problems.add(subject, 'definition', 'must come from defineTool')
    return undefined
  }
  checkFields(definition, FIELDS, subject, problems)
  if (!Number.isInteger(definition.revision ?? 1)) problems.add(subject, 'revision', 'must be a whole number')
  const mcp = checkMcp(definition.mcp, McpExtras, { subject, place })
  const schema = place.kind === 'upstream' ? UpstreamToolFacts : ToolFacts
  const facts = schema.safeParse({ ...withDefaults(definition, bundle, place), mcp })
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const input = checkSchema(definition.input, { subject, field: 'input', side: 'input', root: 'object', place })
  const output =
    definition.output && checkSchema(definition.output, { subject, field: 'output', side: 'output', place })
  const behaviour = checkBehaviour(definition, subject, problems)
  if (facts.success) checkPolicies(facts.data, subject, problems)
  if (facts.success && input) checkCommand(facts.data.command, { subject, input: input.described, problems })
  if (facts.success) checkEffects(facts.data.effects, { subject, input: input?.described, bundle, place })
  if (problems.errors > before || !facts.success || !input || !behaviour) return undefined
  return new CheckedTool({
    facts: facts.data,
    origin: place.origin,
    capability: bundle.key,
    effectKinds: bundle.effectKinds,
    input,
    output,
    ...behaviour,
    codeHash: definition.codeHash ?? place.unitHash,
    written: {
      code: [definition.codeHash ?? place.sources, definition.revision ?? 1],
      timeoutMs: definition.timeoutMs,
      maxResultBytes: definition.maxResultBytes,
      isPinned: place.kind === 'upstream',
    },
    digest: place.deps.digest,
    declared,
  })
}

/** A tool runs, or leads to another: one that said both would have facts that hold for neither. */
function checkBehaviour(
  definition: AnyTool,
  subject: string,
  problems: ProblemList,
): Pick<Tool, 'handler' | 'forward'> | undefined {
  const { handler, forward } = definition
  if (forward === undefined && typeof handler === 'function')
    return { handler: handler.bind(definition) as Tool['handler'], forward: undefined }
  if (handler === undefined && definition.output === undefined && typeof forward === 'function')
    return { handler: neverRuns, forward: forward.bind(definition) as Tool['forward'] }
  if (forward === undefined) problems.add(subject, 'handler', 'must be a function')
  else problems.add(subject, 'forward', 'must be a function, on a tool that has no handler and no output')
  return undefined
}

function neverRuns(): never {
  throw new AppError('INTERNAL', 'A forwarding tool was run by itself.')
}

function withDefaults(tool: AnyTool, bundle: Bundle, { deps, kind }: UnitPlace): object {
  const mutates = tool.mutates ?? true
  return {
    name: tool.name,
    ownName: tool.ownName ?? tool.name,
    title: (kind === 'upstream' ? tool.title || undefined : tool.title) ?? tool.name,
    // A server need not describe its tools, and a tool without a word is better than none.
    short: kind === 'upstream' ? tool.short || tool.title || tool.name : tool.short,
    whenToUse: tool.whenToUse ?? '',
    section: tool.section ?? bundle.key,
    icon: tool.icon,
    command: tool.command ?? commandFrom(tool.name),
    examples: tool.examples ?? [],
    search: tool.search,
    requires: unionOf(bundle.requires, tool.requires ?? []),
    mutates,
    idempotent: tool.idempotent ?? !mutates,
    retry: tool.retry ?? 'manual',
    consent: tool.consent ?? [],
    effects: tool.effects ?? [],
    timeoutMs: tool.timeoutMs ?? deps.settings.callTimeoutSeconds * 1000,
    maxResultBytes: tool.maxResultBytes ?? deps.settings.maxResultBytes,
    maxBinaryBytes: tool.maxBinaryBytes,
    asTask: tool.asTask ?? 'never',
  }
}

/** `read_file` → `read-file`. */
function commandFrom(name: unknown): CommandDecision {
  const word = String(name)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
  return word === '' ? { none: 'Its name makes no command word.' } : { name: word }
}

/** Policies that contradict each other would behave as something else than what they say. */
function checkPolicies(facts: ToolFacts, subject: string, problems: ProblemList): void {
  if (!facts.mutates && !facts.idempotent)
    problems.add(subject, 'idempotent', 'cannot be false on a tool that changes nothing')
  if (facts.retry === 'replay' && !facts.idempotent) problems.add(subject, 'retry', '"replay" needs an idempotent tool')
  if (facts.retry === 'verifyFirst' && facts.effects.length === 0)
    problems.add(subject, 'retry', '"verifyFirst" needs effects to look at')
  if (facts.effects.length > 0 && !facts.idempotent)
    problems.add(subject, 'effects', 'need an idempotent tool, because a missing one is done again')
  if (facts.effects.length > 0 && !facts.mutates) problems.add(subject, 'effects', 'contradict "mutates: false"')
}
