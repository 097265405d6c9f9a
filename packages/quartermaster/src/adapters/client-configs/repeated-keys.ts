import { type JSONPath, visit } from 'jsonc-parser'

/** The paths of keys that their objects have more than once: of these the last counts, and what stood before is lost. */
export function repeatedKeys(text: string): JSONPath[] {
  const repeated: JSONPath[] = []
  const open: Set<string>[] = []
  visit(text, {
    onObjectBegin: () => void open.push(new Set()),
    onObjectEnd: () => void open.pop(),
    onObjectProperty(key, _offset, _length, _line, _character, path) {
      const keys = open.at(-1)
      if (keys?.has(key)) repeated.push([...path(), key])
      keys?.add(key)
    },
  })
  return repeated
}

/** What is to be known of an entry that stands at this path: keys in it, and those that lead to it. */
export function repeatNotes(path: JSONPath, repeated: readonly JSONPath[]): string[] {
  const notes = repeated.flatMap(one => {
    const shared = Math.min(one.length, path.length)
    if (path.slice(0, shared).some((key, i) => key !== one[i])) return []
    const isInside = one.length > path.length
    const key = isInside ? one.slice(path.length).join('.') : one.at(-1)
    return [`"${key}" stands more than once in its ${isInside ? 'entry' : 'file'}: only the last one is taken over.`]
  })
  return [...new Set(notes)]
}
