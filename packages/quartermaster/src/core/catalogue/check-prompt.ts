import { McpExtras, PromptArgument, PromptFacts, UpstreamPromptFacts } from '../../contracts/index.ts'
import { canonicalJson, didYouMean } from '../kernel/index.ts'
import { checkMcp } from './check-mcp.ts'
import { checkFields, unionOf } from './check-parts.ts'
import type { Bundle, UnitPlace } from './check-place.ts'
import type { Prompt } from './generation.ts'
import type { ProblemList } from './problem-list.ts'
import type { AnyPrompt } from './prompt.ts'
import type { Suggest } from './reading.ts'

const FIELDS = [...Object.keys(PromptFacts.shape), 'render', 'codeHash']
const ARGUMENT_FIELDS = new Set([...Object.keys(PromptArgument.shape), 'suggest'])

/** Checks one prompt completely. A bad one is left out, with everything that is wrong with it in the problems. */
export function checkPrompt(definition: AnyPrompt, bundle: Bundle, place: UnitPlace): Prompt | undefined {
  const { problems } = place
  const subject = `prompt:${String(definition?.name)}`
  const before = problems.errors
  if (typeof definition !== 'object' || definition === null) {
    problems.add(subject, 'definition', 'must come from definePrompt')
    return undefined
  }
  checkFields(definition, FIELDS, subject, problems)
  const mcp = checkMcp(definition.mcp, McpExtras, { subject, place })
  const schema = place.kind === 'upstream' ? UpstreamPromptFacts : PromptFacts
  const facts = schema.safeParse({ ...withDefaults(definition, bundle, place), mcp })
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const suggest = checkArguments(definition.arguments ?? [], subject, problems)
  if (typeof definition.render !== 'function') problems.add(subject, 'render', 'must be a function')
  if (problems.errors > before || !facts.success) return undefined
  return Object.freeze({
    ...facts.data,
    ...place.origin,
    capability: bundle.key,
    render: definition.render.bind(definition) as Prompt['render'],
    suggest,
    hash: place.deps.digest(canonicalJson({ ...facts.data, codeHash: definition.codeHash ?? place.unitHash })),
  })
}

function withDefaults(prompt: AnyPrompt, bundle: Bundle, { kind }: UnitPlace): object {
  const given: unknown = prompt.arguments ?? []
  return {
    name: prompt.name,
    title: prompt.title ?? prompt.name,
    short: kind === 'upstream' ? prompt.short || prompt.title || prompt.name : prompt.short,
    icon: prompt.icon,
    requires: unionOf(bundle.requires, prompt.requires ?? []),
    arguments: Array.isArray(given) ? given.map(argumentFacts) : given,
  }
}

function argumentFacts(argument: unknown): unknown {
  if (typeof argument !== 'object' || argument === null) return argument
  const { name, title, short, required = false } = argument as Record<string, unknown>
  return { name, title, short, required }
}

/** What the schema does not see: fields that no argument has, names that come twice, helpers that cannot be called. */
function checkArguments(given: unknown, subject: string, problems: ProblemList): Map<string, Suggest> {
  const suggest = new Map<string, Suggest>()
  const seen = new Set<unknown>()
  for (const [index, argument] of (Array.isArray(given) ? given : []).entries()) {
    if (typeof argument !== 'object' || argument === null) continue
    const field = `arguments.${index}`
    const unknown = Object.keys(argument).filter(key => !ARGUMENT_FIELDS.has(key))
    for (const key of unknown)
      problems.add(subject, `${field}.${key}`, `is not a field of an argument.${didYouMean(key, ARGUMENT_FIELDS)}`)
    const { name, suggest: helper } = argument as { name: string; suggest?: Suggest }
    if (seen.has(name)) problems.add(subject, `${field}.name`, `"${String(name)}" comes twice`)
    seen.add(name)
    if (typeof helper === 'function') suggest.set(name, helper.bind(argument))
    else if (helper !== undefined) problems.add(subject, `${field}.suggest`, 'must be a function')
  }
  return suggest
}
