import type { Generation, Knowledge, Prompt, Resource } from '../catalogue/index.ts'
import type { Digest } from '../kernel/index.ts'
import {
  createSkill,
  type Directions,
  isDirections,
  type Skill,
  seesUnit,
  type UnitReader,
  unitsIn,
  withIncludes,
} from '../knowledge/index.ts'
import type { PromptGrant, Resolution, ResourceGrant } from './resolve-capabilities.ts'

/** Directions as an agent gets them: a prompt for people and a skill that a model reads when it needs it. */
interface Offer {
  readonly prompt: PromptGrant
  readonly resource: ResourceGrant
  readonly skill: Skill
}

interface DirectionsDeps {
  readonly generation: Generation
  readonly digest: Digest
  readonly reader: UnitReader
}

/** Adds the visible directions to what the capabilities grant. On a clash of names or URIs the capabilities win. */
export function withDirections(resolution: Resolution, deps: DirectionsDeps): Resolution {
  // An agent with a wrong configuration gets nothing but the error.
  if (resolution.issues.length > 0) return resolution
  const offered = visibleDirections(deps)
  if (offered.length === 0) return resolution
  const prompts = new Map(resolution.prompts)
  const resources = new Map(resolution.resources)
  const skills: Skill[] = []
  for (const unit of offered) {
    const { prompt, resource, skill } = findOffer(unit, deps)
    if (!prompts.has(unit.command)) prompts.set(unit.command, prompt)
    if (resources.has(skill.uri)) continue
    resources.set(skill.uri, resource)
    skills.push(skill)
  }
  return { ...resolution, prompts, resources, skills }
}

/** Of two with the same command the project's wins, then the first: an update of the product must not take a user's command. */
function visibleDirections({ generation, reader }: DirectionsDeps): Directions[] {
  const mine = cacheOf(generation).directions.filter(unit => seesUnit(unit, reader))
  const byWord = new Map<string, Directions>()
  for (const unit of [...mine.filter(one => !one.isBuiltin), ...mine.filter(one => one.isBuiltin)])
    if (!byWord.has(unit.command)) byWord.set(unit.command, unit)
  return [...byWord.values()]
}

/** Cached per generation: there may be thousands of agents. */
interface DirectionsCache {
  readonly directions: readonly Directions[]
  /** By the paths of all included units: readers who see the same units share an offer. */
  readonly offers: Map<string, Offer>
}

const caches = new WeakMap<Generation, DirectionsCache>()

function cacheOf(generation: Generation): DirectionsCache {
  const before = caches.get(generation)
  if (before) return before
  const made = { directions: [...generation.knowledge.values()].filter(isDirections), offers: new Map() }
  caches.set(generation, made)
  return made
}

function findOffer(unit: Directions, { generation, reader, digest }: DirectionsDeps): Offer {
  const { offers } = cacheOf(generation)
  const units = unitsIn<Knowledge>(unit, path => {
    const found = generation.knowledge.get(path)
    return found && seesUnit(found, reader) ? found : undefined
  })
  const key = [...units.keys()].join('\n')
  const before = offers.get(key)
  if (before) return before
  const made = toOffer(unit, units, digest)
  offers.set(key, made)
  return made
}

/** The text is built when it is read; lists and notifications do not need it. */
function toOffer(unit: Directions, units: ReadonlyMap<string, Knowledge>, digest: Digest): Offer {
  const hash = digest([...units.values()].map(one => one.hash).join('\n'))
  const body = () => withIncludes(unit, path => units.get(path)).text
  const skill = createSkill(unit, { body, hash, digest })
  // No capability can have this key, so no single-capability server includes it.
  const capability = `unit:${unit.path}`
  const { source, unit: file, title, summary: short } = unit
  const facts = { source, unit: file, title, short, icon: undefined, requires: [], capability, suggest: NONE, hash }
  const prompt: Prompt = { ...facts, name: unit.command, arguments: [], render: body }
  const granted = { capability, config: undefined }
  return {
    prompt: { ...granted, prompt },
    resource: { ...granted, resource: { ...facts, ...resourceAt(skill) } },
    skill,
  }
}

const NONE: Prompt['suggest'] = new Map()

/** Without a size: computing it for every list would assemble all texts. */
function resourceAt({ uri, frontmatter: { name, description }, text }: Skill) {
  return {
    name,
    short: description,
    uri,
    key: uri,
    mimeType: 'text/markdown',
    mcp: {},
    params: [],
    match: (asked: string) => (asked === uri ? {} : undefined),
    read: text,
    watch: undefined,
  } satisfies Partial<Resource>
}
