import type { Generation, Prompt, Resource } from '../catalogue/index.ts'
import type { Digest } from '../kernel/index.ts'
import {
  type Directions,
  isDirections,
  isOffered,
  type SkillManifest,
  skillManifest,
  withIncludes,
} from '../knowledge/index.ts'
import type { PromptGrant, Resolution, ResourceGrant } from './grants.ts'

/** Directions as agents meet them: something a person calls by its word, and a skill that a model reads when it needs it. */
interface Offer {
  readonly unit: Directions
  readonly prompt: PromptGrant
  readonly skill: ResourceGrant & { readonly manifest: SkillManifest }
}

export interface DirectionsDeps {
  readonly generation: Generation
  readonly digest: Digest
  /** Whether the agent has a tool, working or not. */
  has(tool: string): boolean
  /** Only what came with the product: for those who have no part in the project's own knowledge. */
  readonly onlyBuiltin: boolean
}

/** Adds the directions that an agent is offered to what its capabilities let it read. Names and addresses of these stay theirs. */
export function withDirections(resolution: Resolution, deps: DirectionsDeps): Resolution {
  // Whose configuration is wrong has nothing, and is told so.
  if (resolution.issues.length > 0) return resolution
  const offers = offeredBy(deps)
  if (offers.length === 0) return resolution
  const prompts = new Map(resolution.prompts)
  const resources = new Map(resolution.resources)
  const skills: SkillManifest[] = []
  for (const { prompt, skill } of offers) {
    if (!prompts.has(prompt.prompt.name)) prompts.set(prompt.prompt.name, prompt)
    if (resources.has(skill.resource.key)) continue
    resources.set(skill.resource.key, skill)
    skills.push(skill.manifest)
  }
  return { ...resolution, prompts, resources, skills }
}

/** Of two with the same word the project's own counts, else the first: an update of ours takes no word away from anybody. */
function offeredBy({ generation, digest, has, onlyBuiltin }: DirectionsDeps): Offer[] {
  const mine = offersIn(generation, digest).filter(
    ({ unit }) => (unit.isBuiltin || !onlyBuiltin) && isOffered(unit, has),
  )
  const byWord = new Map<string, Offer>()
  for (const offer of [...mine.filter(({ unit }) => !unit.isBuiltin), ...mine.filter(({ unit }) => unit.isBuiltin)])
    if (!byWord.has(offer.unit.command)) byWord.set(offer.unit.command, offer)
  return [...byWord.values()]
}

/** The same for all agents of a generation, of which there may be thousands. */
const known = new WeakMap<Generation, readonly Offer[]>()

function offersIn(generation: Generation, digest: Digest): readonly Offer[] {
  const before = known.get(generation)
  if (before) return before
  const { knowledge } = generation
  const textOf = (unit: Directions) => withIncludes(unit, path => knowledge.get(path)).text
  const made = [...knowledge.values()].filter(isDirections).map(unit => toOffer(unit, textOf(unit), digest))
  known.set(generation, made)
  return made
}

function toOffer(unit: Directions, text: string, digest: Digest): Offer {
  const manifest = skillManifest(unit, text, digest)
  // No capability can have this key, so that no server of a single one has them.
  const capability = `unit:${unit.path}`
  const { source, unit: file, title, summary: short } = unit
  // The title is shown in lists and stands in no text.
  const hash = digest(`${title}\n${manifest.sha256}`)
  const facts = { source, unit: file, title, short, icon: undefined, requires: [], capability, suggest: NONE, hash }
  const prompt: Prompt = { ...facts, name: unit.command, arguments: [], render: () => text }
  const granted = { capability, config: undefined }
  return {
    unit,
    prompt: { ...granted, prompt },
    skill: { ...granted, resource: { ...facts, ...resourceAt(manifest) }, manifest },
  }
}

const NONE: Prompt['suggest'] = new Map()

function resourceAt({ uri, frontmatter: { name, description }, text, bytes }: SkillManifest) {
  return {
    name,
    short: description,
    uri,
    key: uri,
    mimeType: 'text/markdown',
    mcp: { size: bytes },
    params: [],
    match: (asked: string) => (asked === uri ? {} : undefined),
    read: () => text,
    watch: undefined,
  } satisfies Partial<Resource>
}
