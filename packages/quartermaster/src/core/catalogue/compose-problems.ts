import type { Problem } from '../../contracts/index.ts'
import { didYouMean, upstreamIn } from '../kernel/index.ts'
import { otherOwner } from './compose-owners.ts'
import type { Declaration } from './declaration.ts'
import type { Dependency, Generation, Origin } from './generation.ts'

/** Something about a definition that is right in itself and does not fit with the others. */
export function misfit(origin: Origin, subject: string, field: string, message: string): Problem {
  return { severity: 'error', code: 'DEFINITION_INVALID', where: origin.unit, subject, field, message }
}

/** What has a name, and whose it is. */
export type NamedKind = 'tool' | 'prompt' | 'capability' | 'injection' | 'dependency' | 'op' | 'unit'

/** A name that something else has. Of a tool of an upstream also what the server calls it, which is what its entry goes by. */
export function nameTaken(
  kind: NamedKind,
  name: string,
  origin: Origin & { readonly ownName?: string },
  first: Origin & { readonly isHeld?: boolean },
): Problem {
  const text = `The ${kind} name "${name}" is taken by ${first.unit} (${first.source}); ${whyKept(origin, first)}.`
  const upstream = upstreamIn(origin.unit)
  const { ownName = name } = origin
  const mend = upstream === undefined ? mendHere(kind) : mendUpstream({ upstream, kind, ownName })
  return { ...misfit(origin, `${kind}:${name}`, 'name', text), mend }
}

/** What would be wrong if an upstream offered this beside what there is now. */
export function clashWith(
  { tools, prompts, owners }: Pick<Generation, 'tools' | 'prompts' | 'owners'>,
  wanted: Origin & { readonly kind: 'tool' | 'prompt'; readonly name: string; readonly ownName: string },
): Problem | undefined {
  const { kind, name, unit } = wanted
  const first = (kind === 'tool' ? tools : prompts).get(name) ?? otherOwner(owners, kind, wanted)
  return first && first.unit !== unit ? nameTaken(kind, name, wanted, first) : undefined
}

function whyKept(origin: Origin, first: Origin & { readonly isHeld?: boolean }): string {
  if (first.isHeld) return 'it has it now, and keeps it while what it has there is held back'
  if (upstreamIn(origin.unit) === undefined) return 'the earlier one stays'
  return upstreamIn(first.unit) === undefined
    ? 'what is built in or defined by the project goes before what a server has'
    : 'it has it now, and keeps it for as long as it offers it'
}

/** Where what has a name says it, in whoever's file that is. */
const FIELDS = {
  tool: 'name',
  prompt: 'name',
  dependency: 'name',
  capability: 'key',
  injection: 'key',
  op: 'id',
} as const satisfies Record<Exclude<NamedKind, 'unit'>, string>

function mendHere(kind: NamedKind): string {
  return kind === 'unit' ? 'Give one of the two files another name.' : `Give one of the two another "${FIELDS[kind]}".`
}

/** Nobody here can change what a server calls its things, only what they are called here. */
function mendUpstream({ upstream, kind, ownName }: { upstream: string; kind: NamedKind; ownName: string }): string {
  const entry = `its entry in "mcpServers"`
  if (kind === 'tool') {
    const named = `"tools": { ${JSON.stringify(ownName)}: { "name": "…" } }`
    const prefixed = 'Where it is given no name there, "prefix": "…" for all that this server has does as well.'
    return `Give it another name in the entry "${upstream}" of "mcpServers": ${named}. ${prefixed}`
  }
  if (kind === 'prompt')
    return `Give all that "${upstream}" has another beginning, with "prefix" in ${entry}, or leave out its prompts: "prompts": false.`
  if (kind === 'capability') return `Give ${entry} another key than "${upstream}". Agents then have it by that one.`
  return mendHere(kind)
}

/** Declarations make a capability together, and none may add to one that somebody has programmed. */
export function capabilityTaken({ path, capability, ...origin }: Declaration, first: Origin): Problem {
  const text = `declaration "${path}": capability "${capability}" is that of ${first.unit} (${first.source}), which stays as it is.`
  const mend = 'Say another "capability", or move the file to another folder.'
  return { ...misfit(origin, `declaration:${path}`, 'capability', text), mend }
}

/** A definition that says what it needs. */
interface Needing extends Origin {
  readonly requires: readonly string[]
}

/** What it requires and nothing defines. */
export function missingRequires(
  item: Needing,
  { kind, name }: { kind: string; name: string },
  dependencies: ReadonlyMap<string, Dependency>,
): Problem[] {
  const title = kind.charAt(0).toUpperCase() + kind.slice(1)
  return item.requires
    .filter(one => !dependencies.has(one))
    .map(one => {
      const hint = didYouMean(one, dependencies.keys())
      const text = `${title} "${name}" requires "${one}", which nothing defines.${hint}`
      return misfit(item, `${kind}:${name}`, 'requires', text)
    })
}

/** What it asks persons for and nothing declares. */
export function missingConsent(
  item: Origin & { readonly consent: readonly string[] },
  name: string,
  operations: ReadonlyMap<string, unknown>,
): Problem[] {
  return item.consent
    .filter(one => !operations.has(one))
    .map(one => {
      const hint = didYouMean(one, operations.keys())
      const text = `Tool "${name}" asks for "${one}", which no capability declares.${hint}`
      return misfit(item, `tool:${name}`, 'consent', text)
    })
}
