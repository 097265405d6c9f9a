import { spokenName } from './words.ts'

/** From names, in whatever way they are written, to documents. */
export interface NameIndex {
  add(slot: number, name: string): void
  remove(slot: number, name: string): void
  /** The documents that a question names, as a whole or by identifiers in it; the closest writing first. */
  named(question: string): number[]
}

/** Names in a question beyond these are words like others. */
const MAX_IDENTIFIERS = 16
const LONGEST_NAME = 128

export function createNameIndex(): NameIndex {
  const bySpoken = new Map<string, { slot: number; name: string }[]>()

  const find = (asked: string) => {
    const lower = asked.toLowerCase()
    const closeness = (name: string) => (name === asked ? 0 : name.toLowerCase() === lower ? 1 : 2)
    return [...(bySpoken.get(spokenName(asked)) ?? [])].sort(
      (a, b) => closeness(a.name) - closeness(b.name) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    )
  }

  return {
    add(slot, name) {
      const key = spokenName(name)
      const others = bySpoken.get(key)
      if (others) others.push({ slot, name })
      else bySpoken.set(key, [{ slot, name }])
    },
    remove(slot, name) {
      const key = spokenName(name)
      const others = (bySpoken.get(key) ?? []).filter(entry => entry.slot !== slot)
      if (others.length > 0) bySpoken.set(key, others)
      else bySpoken.delete(key)
    },
    named(question) {
      const asked = [question.trim(), ...identifiersOf(question)]
      return [...new Set(asked.flatMap(find).map(({ slot }) => slot))]
    },
  }
}

/** Words that only a program would write: `read_file`, `readFile`, `files.read`. */
function identifiersOf(question: string): string[] {
  const words = question.match(/[\p{L}\p{N}_.-]+/gu) ?? []
  return words
    .filter(word => word.length <= LONGEST_NAME)
    .map(word => word.replace(/^[.-]+|[.-]+$/g, ''))
    .filter(word => /[\p{L}\p{N}][_.-][\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(word))
    .slice(0, MAX_IDENTIFIERS)
}
