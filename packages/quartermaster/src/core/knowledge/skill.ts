import { type Knowledge } from '../catalogue/index.ts'
import { type Digest } from '../kernel/index.ts'

/** Directions as a skill: the one file that it has, as the format of agent skills wants it. */
export interface Skill {
  readonly uri: string
  /** What stands at the head of the file, and nothing else. */
  readonly frontmatter: { readonly name: string; readonly description: string }
  /** The file, made on each read: most are never read. */
  text(): string
  measure(): SkillMeasure
}

/** What a client holds the file against. */
interface SkillMeasure {
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly sha256: string
  readonly bytes: number
}

/** As many characters as a description may have in that format. */
const MOST_DESCRIPTION = 1_024

interface SkillParts {
  /** The text of the directions, with what it includes. */
  body(): string
  /** Another one when that text is another. */
  readonly hash: string
  readonly digest: Digest
}

/** Directions written down as `SKILL.md`. The hash is that of all it is made of. */
export function createSkill(directions: Directions, { body, hash, digest }: SkillParts): Skill {
  const { command: name } = directions
  const description = descriptionOf(directions)
  // What JSON quotes is quoted in YAML too, whatever stands in it. Without quotes the word "true" would be no word.
  const text = () =>
    `---\nname: ${JSON.stringify(name)}\ndescription: ${JSON.stringify(description)}\n---\n\n${body()}\n`
  return {
    uri: `skill://${name}/SKILL.md`,
    frontmatter: { name, description },
    text,
    measure() {
      const before = measures.get(directions)?.get(hash)
      if (before) return before
      const whole = text()
      const made = { sha256: digest(whole), bytes: new TextEncoder().encode(whole).length }
      remember(directions, hash, made)
      return made
    },
  }
}

/** Kept from one generation to the next, and without the texts: these are read by few, and listed by all. */
const measures = new WeakMap<Directions, Map<string, SkillMeasure>>()
/** What some agents see of an include and others do not makes several of one; edits of includes make ever more. */
const MOST_MEASURES = 16

function remember(directions: Directions, hash: string, measure: SkillMeasure): void {
  const known = measures.get(directions) ?? new Map<string, SkillMeasure>()
  if (known.size >= MOST_MEASURES) known.clear()
  measures.set(directions, known.set(hash, measure))
}

/** A model decides by it alone whether to read on. What does not fit as a whole is left out: half a condition is another one. */
function descriptionOf({ summary, whenToUse }: Directions): string {
  const whole = `${summary} ${whenToUse}`
  return whole.length <= MOST_DESCRIPTION ? whole : summary
}

/** Directions: a unit that is followed step by step, and called by a word. */
export interface Directions extends Knowledge {
  readonly kind: 'directions'
  readonly command: string
  readonly summary: string
  readonly whenToUse: string
}

export function isDirections(unit: Knowledge): unit is Directions {
  return unit.kind === 'directions'
}
