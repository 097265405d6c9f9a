import { type CommandDecision, ToolFacts } from '../../contracts/index.ts'
import type { Capability } from './capability.ts'
import { checkFields, checkSchema } from './check-parts.ts'
import type { UnitPlace } from './check-place.ts'
import { CheckedTool } from './checked-tool.ts'
import type { Tool } from './generation.ts'
import type { AnyTool } from './tool.ts'

const FIELDS = [...Object.keys(ToolFacts.shape), 'input', 'output', 'handler']

type Bundle = Pick<Capability, 'key' | 'requires'>

/** Checks one tool completely. A bad one is left out, with everything that is wrong with it in the problems. */
export function checkTool(definition: AnyTool, bundle: Bundle, place: UnitPlace): Tool | undefined {
  const { problems } = place
  const subject = `tool:${String(definition?.name)}`
  const before = problems.errors
  if (typeof definition !== 'object' || definition === null) {
    problems.add(subject, 'definition', 'must come from defineTool')
    return undefined
  }
  checkFields(definition, FIELDS, subject, problems)
  const facts = ToolFacts.safeParse(withDefaults(definition, bundle, place))
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const input = checkSchema(definition.input, { subject, field: 'input', side: 'input', root: 'object', place })
  const output =
    definition.output && checkSchema(definition.output, { subject, field: 'output', side: 'output', place })
  if (typeof definition.handler !== 'function') problems.add(subject, 'handler', 'must be a function')
  if (facts.success) checkPolicies(facts.data, subject, place)
  if (problems.errors > before || !facts.success || !input) return undefined
  return new CheckedTool({
    facts: facts.data,
    origin: place.origin,
    capability: bundle.key,
    input,
    output,
    handler: definition.handler.bind(definition) as Tool['handler'],
    unitHash: place.unitHash,
    digest: place.deps.digest,
  })
}

function withDefaults(tool: AnyTool, bundle: Bundle, { deps }: UnitPlace): unknown {
  const mutates = tool.mutates ?? true
  return {
    name: tool.name,
    title: tool.title ?? tool.name,
    short: tool.short,
    whenToUse: tool.whenToUse ?? '',
    section: tool.section ?? bundle.key,
    icon: tool.icon,
    command: tool.command ?? commandFrom(tool.name),
    examples: tool.examples ?? [],
    requires: union(bundle.requires, tool.requires ?? []),
    mutates,
    idempotent: tool.idempotent ?? !mutates,
    retry: tool.retry ?? 'manual',
    consent: tool.consent ?? [],
    effects: tool.effects ?? [],
    timeoutMs: tool.timeoutMs ?? deps.settings.callTimeoutSeconds * 1000,
    maxResultBytes: tool.maxResultBytes ?? deps.settings.maxResultBytes,
  }
}

/** Both lists; what is no list is passed on as it is, for the check to say so. */
function union(first: readonly string[], second: unknown): unknown {
  if (!Array.isArray(second) || first.length === 0) return second
  return [...new Set([...first, ...second])]
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
function checkPolicies(facts: ToolFacts, subject: string, { problems, deps }: UnitPlace): void {
  if (!facts.mutates && !facts.idempotent)
    problems.add(subject, 'idempotent', 'cannot be false on a tool that changes nothing')
  if (facts.retry === 'replay' && !facts.idempotent) problems.add(subject, 'retry', '"replay" needs an idempotent tool')
  if (facts.retry === 'verifyFirst' && facts.effects.length === 0)
    problems.add(subject, 'retry', '"verifyFirst" needs effects to look at')
  if (facts.effects.length > 0 && !facts.idempotent)
    problems.add(subject, 'effects', 'need an idempotent tool, because a missing one is done again')
  if (facts.effects.length > 0 && !facts.mutates) problems.add(subject, 'effects', 'contradict "mutates: false"')
  for (const effect of facts.effects) {
    if (!deps.effectKinds.has(effect.kind))
      problems.add(subject, 'effects', `has the kind "${effect.kind}", which nothing here can verify`)
  }
}
