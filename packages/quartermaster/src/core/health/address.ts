import { AppError } from '../../contracts/index.ts'
import type { Generation } from '../catalogue/index.ts'
import { didYouMean } from '../kernel/index.ts'

export type AddressKind = 'tool' | 'dependency' | 'capability'

export interface Address {
  readonly kind: AddressKind
  readonly name: string
}

/** What `weather`, `tool:weather`, `dependency:mail` or `capability:files` means here. */
export function parseAddress(text: string, generation: Generation): Address {
  const shelves = { tool: generation.tools, dependency: generation.dependencies, capability: generation.capabilities }
  const [prefix, rest] = split(text)
  const kinds = prefix ? [prefix] : (Object.keys(shelves) as AddressKind[])
  const hits = kinds.filter(kind => shelves[kind].has(rest))
  if (hits.length > 1) {
    const ways = hits.map(kind => `"${kind}:${rest}"`).join(' or ')
    const addresses = hits.map(kind => `${kind}:${rest}`)
    throw new AppError('NAME_AMBIGUOUS', `"${rest}" names a ${hits.join(' and a ')}. Say ${ways}.`, {
      details: { addresses },
    })
  }
  const [kind] = hits
  if (kind) return { kind, name: rest }
  const hint = didYouMean(
    rest,
    kinds.flatMap(one => [...shelves[one].keys()]),
  )
  if (prefix === 'tool') throw new AppError('TOOL_NOT_FOUND', `There is no tool "${rest}".${hint}`)
  if (prefix === 'dependency') throw new AppError('DEPENDENCY_UNKNOWN', `There is no dependency "${rest}".${hint}`)
  if (prefix === 'capability') throw new AppError('CAPABILITY_UNKNOWN', `There is no capability "${rest}".${hint}`)
  throw new AppError('NAME_UNKNOWN', `No tool, dependency or capability is named "${rest}".${hint}`)
}

/** The dependencies that the addressed thing needs. */
export function requirementsOf({ kind, name }: Address, generation: Generation): readonly string[] {
  if (kind === 'dependency') return [name]
  if (kind === 'tool') return generation.tools.get(name)?.requires ?? []
  const capability = generation.capabilities.get(name)
  if (capability?.unseen !== undefined) return dependenciesOf(capability.unit, generation)
  const parts = capability ? [...capability.tools, ...capability.prompts, ...capability.resources] : []
  return [...new Set(parts.flatMap(part => part.requires))]
}

/** Of what nobody has seen, no tool says yet what it needs. */
function dependenciesOf(own: string, { dependencies }: Generation): string[] {
  return [...dependencies.values()].filter(({ unit }) => unit === own).map(({ name }) => name)
}

function split(text: string): [AddressKind | undefined, string] {
  const match = /^(tool|dependency|capability):(.*)$/.exec(text)
  return match ? [match[1] as AddressKind, match[2] as string] : [undefined, text]
}
