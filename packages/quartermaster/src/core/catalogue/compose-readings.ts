import type { Problem } from '../../contracts/index.ts'
import { type Owners, otherOwner } from './compose-owners.ts'
import { misfit, missingRequires, nameTaken } from './compose-problems.ts'
import type { CatalogueCapability, Dependency, Origin, Prompt, Resource } from './generation.ts'
import type { SourceKind } from './source.ts'

/** What the capabilities before this one have brought. */
export interface KnownReadings {
  readonly prompts: Map<string, Prompt>
  readonly resources: Map<string, Resource>
  readonly dependencies: ReadonlyMap<string, Dependency>
  readonly problems: Problem[]
  /** Names that upstreams have, set when the first of them comes. */
  owners: Owners
}

/** Adds a capability's prompts and resources to those there are. What does not fit is left out and explained. */
export function takeReadings(
  { prompts, resources }: CatalogueCapability,
  known: KnownReadings,
  kind: SourceKind,
): Pick<CatalogueCapability, 'prompts' | 'resources'> {
  return {
    prompts: prompts.filter(prompt => take(known.prompts, prompt.name, prompt, promptFaults(prompt, known), known)),
    resources: resources.filter(one => take(known.resources, one.key, one, resourceFaults(one, known, kind), known)),
  }
}

function take<T>(
  taken: Map<string, T>,
  key: string,
  item: T,
  faults: readonly Problem[],
  { problems }: KnownReadings,
): boolean {
  problems.push(...faults)
  if (faults.length === 0 && !taken.has(key)) taken.set(key, item)
  return faults.length === 0
}

function promptFaults(prompt: Prompt, { prompts, dependencies, owners }: KnownReadings): Problem[] {
  const { name } = prompt
  const first = prompts.get(name) ?? otherOwner(owners, 'prompt', prompt)
  const missing = missingRequires(prompt, { kind: 'prompt', name }, dependencies)
  return first ? [nameTaken('prompt', name, prompt, first), ...missing] : missing
}

function resourceFaults(resource: Resource, { resources, dependencies }: KnownReadings, kind: SourceKind): Problem[] {
  const { key } = resource
  const first = resources.get(key)
  const missing = missingRequires(resource, { kind: 'resource', name: key }, dependencies)
  // Nobody here can give the resource of someone else's server another address, and most agents have only one of the two.
  const mayShare = kind === 'upstream' && first?.unit !== resource.unit
  return first && !mayShare ? [addressTaken(resource, first, kind), ...missing] : missing
}

const MEND_ADDRESS = {
  ours: 'Give one of the two another address.',
  theirs: 'Only whoever wrote the server can give one of the two another address.',
} as const

function addressTaken(resource: Resource, first: Origin, kind: SourceKind): Problem {
  const { key, uri } = resource
  const text = `The address "${key}" is taken by ${first.unit} (${first.source}); the earlier one stays.`
  const field = uri === undefined ? 'uriTemplate' : 'uri'
  return {
    ...misfit(resource, `resource:${key}`, field, text),
    mend: MEND_ADDRESS[kind === 'upstream' ? 'theirs' : 'ours'],
  }
}
