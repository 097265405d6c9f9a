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

/** Directions as agents meet them: something a person calls by its word, and a skill that a model reads when it needs it. */
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

/** Adds the directions that an agent is offered to what its capabilities let it read. Names and addresses of these stay theirs. */
export function withDirections(resolution: Resolution, deps: DirectionsDeps): Resolution {
  // Whose configuration is wrong has nothing, and is told so.
  if (resolution.issues.length > 0) return resolution
  const offered = offeredBy(deps)
  if (offered.length === 0) return resolution
  const prompts = new Map(resolution.prompts)
  const resources = new Map(resolution.resources)
  const skills: Skill[] = []
  for (const unit of offered) {
    const { prompt, resource, skill } = offerOf(unit, deps)
    if (!prompts.has(unit.command)) prompts.set(unit.command, prompt)
    if (resources.has(skill.uri)) continue
    resources.set(skill.uri, resource)
    skills.push(skill)
  }
  return { ...resolution, prompts, resources, skills }
}

/** Of two with the same word the project's own wins, else the first: an update of ours takes no word away from a user. */
function offeredBy({ generation, reader }: DirectionsDeps): Directions[] {
  const mine = sourceOf(generation).directions.filter(unit => seesUnit(unit, reader))
  const byWord = new Map<string, Directions>()
  for (const unit of [...mine.filter(one => !one.isBuiltin), ...mine.filter(one => one.isBuiltin)])
    if (!byWord.has(unit.command)) byWord.set(unit.command, unit)
  return [...byWord.values()]
}

/** What is the same for all agents of a generation, of which there may be thousands. */
interface DirectionsSource {
  readonly directions: readonly Directions[]
  /** By the paths of all that is in them: readers who see the same share one. */
  readonly offers: Map<string, Offer>
}

const sources = new WeakMap<Generation, DirectionsSource>()

function sourceOf(generation: Generation): DirectionsSource {
  const before = sources.get(generation)
  if (before) return before
  const made = { directions: [...generation.knowledge.values()].filter(isDirections), offers: new Map() }
  sources.set(generation, made)
  return made
}

function offerOf(unit: Directions, { generation, reader, digest }: DirectionsDeps): Offer {
  const { offers } = sourceOf(generation)
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

/** The text is built when it is read. Lists and announcements do not need it. */
function toOffer(unit: Directions, units: ReadonlyMap<string, Knowledge>, digest: Digest): Offer {
  const hash = digest([...units.values()].map(one => one.hash).join('\n'))
  const body = () => withIncludes(unit, path => units.get(path)).text
  const skill = createSkill(unit, { body, hash, digest })
  // No capability can have this key, so that no server of a single one has them.
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

/** Its size is told with the skill: a list of resources would have to put all texts together for it. */
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
