import { MOST_TAG_CHARACTERS, MOST_TAGS, toKeepable } from '../../contracts/index.ts'
import { UNSAFE } from '../kernel/index.ts'
import type { KeptWords, SaidOfItself } from './ports.ts'

/** As much as an agent that registers may say of itself. */
const MOST = { description: 2_000, version: 64, skills: 100, id: 128, name: 200 } as const

/** What a stranger says of itself, as it is kept: one line each, of bounded length, with nothing that cannot be seen. */
export function keptWords({ description, version, skills }: SaidOfItself): KeptWords {
  const about = plainLine(description ?? '', MOST.description)
  const number = plainLine(version ?? '', MOST.version)
  return {
    ...(about !== '' && { description: about }),
    ...(number !== '' && { version: number }),
    skills: skills
      .flatMap(skill => {
        const id = plainLine(skill.id, MOST.id)
        const name = plainLine(skill.name, MOST.name) || id
        const tags = tagsIn(skill.tags ?? [])
        const said = { id, name, description: plainLine(skill.description, MOST.description) }
        return id === '' ? [] : [{ ...said, ...(tags.length > 0 && { tags }) }]
      })
      .slice(0, MOST.skills),
  }
}

function tagsIn(tags: readonly string[]): string[] {
  const lines = tags.slice(0, 2 * MOST_TAGS).map(tag => plainLine(tag, MOST_TAG_CHARACTERS))
  return [...new Set(lines.filter(tag => tag !== ''))].slice(0, MOST_TAGS)
}

/** One line of somebody's words, shortened, without control characters and what reverses the reading order. */
export function plainLine(text: string, longest: number): string {
  const line = toKeepable(text.slice(0, 4 * longest))
    .replace(/\s+/g, ' ')
    .replace(UNSAFE, '')
    .trim()
  return line.length <= longest ? line : `${line.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
