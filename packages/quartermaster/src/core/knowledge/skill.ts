import { type Knowledge } from '../catalogue/index.ts'
import { type Digest } from '../kernel/index.ts'

/** Directions in the format of agent skills: one file, `SKILL.md`. */
export interface Skill {
  readonly uri: string
  readonly frontmatter: { readonly name: string; readonly description: string }
  /** The file. Made on each read, because most are never read. */
  text(): string
  /** What a client verifies the file with. The SHA-256 is in hexadecimal. */
  measure(): SkillMeasure
}

interface SkillMeasure {
  readonly sha256: string
  readonly bytes: number
}

/** The limit of the format. */
const MOST_DESCRIPTION = 1_024

/** Makes a skill of directions. `body` is their text with its includes, and `hash` changes with it. */
export function createSkill(
  directions: Directions,
  { body, hash, digest }: { body(): string; readonly hash: string; readonly digest: Digest },
): Skill {
  const { command: name } = directions
  const description = descriptionOf(directions)
  // A JSON string is a YAML string too. Without quotes, the word "true" would be a boolean.
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

// Measures are kept across generations, because lists need them; texts are not.
const measures = new WeakMap<Directions, Map<string, SkillMeasure>>()
// There are several for one unit, because agents see different includes, and more after each edit of an include.
const MOST_MEASURES = 16

function remember(directions: Directions, hash: string, measure: SkillMeasure): void {
  const known = measures.get(directions) ?? new Map<string, SkillMeasure>()
  if (known.size >= MOST_MEASURES) known.clear()
  measures.set(directions, known.set(hash, measure))
}

// A model decides by it whether to read on. "When to use" is left out if it does not fit: half a condition would mislead.
function descriptionOf({ summary, whenToUse }: Directions): string {
  const whole = `${summary} ${whenToUse}`
  return whole.length <= MOST_DESCRIPTION ? whole : summary
}

/** A unit with steps to follow, called by a command. */
export interface Directions extends Knowledge {
  readonly kind: 'directions'
  readonly command: string
  readonly summary: string
  readonly whenToUse: string
}

export function isDirections(unit: Knowledge): unit is Directions {
  return unit.kind === 'directions'
}
