import type { Digest } from '../kernel/index.ts'
import type { Directions } from './directions.ts'

/** Directions as a skill: the one file that it has, as the format of agent skills wants it. */
export interface SkillManifest {
  readonly uri: string
  /** What stands at the head of the file, and nothing else. */
  readonly frontmatter: { readonly name: string; readonly description: string }
  readonly text: string
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly sha256: string
  readonly bytes: number
}

/** As many characters as a description may have in that format. */
const MOST_DESCRIPTION = 1_024

/** Writes directions down as `SKILL.md`. The text is theirs, with what it includes. */
export function skillManifest(directions: Directions, body: string, digest: Digest): SkillManifest {
  const { command: name } = directions
  const description = descriptionOf(directions)
  // What JSON quotes is quoted in YAML too, whatever stands in it.
  const text = `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n${body}\n`
  return {
    uri: `skill://${name}/SKILL.md`,
    frontmatter: { name, description },
    text,
    sha256: digest(text),
    bytes: new TextEncoder().encode(text).length,
  }
}

/** A model decides by it alone whether to read on. What does not fit as a whole is left out: half a condition is another one. */
function descriptionOf({ summary, whenToUse }: Directions): string {
  const whole = `${summary} ${whenToUse}`
  return whole.length <= MOST_DESCRIPTION ? whole : summary
}
