// For texts of JSON that are compared to the letter: to parse them and write them again would hide how they spell what they say.

/** The members of an object in JSON in their order, each value as it is spelled. */
export function membersOf(json: string): Map<string, string> {
  return new Map(
    itemsOf(json).map(member => {
      const [whole, key] = /^("[^"\\]*(?:\\.[^"\\]*)*")\s*:\s*/.exec(member) ?? []
      if (whole === undefined || key === undefined) throw new Error(`It is no member of an object: ${member}`)
      return [JSON.parse(key) as string, member.slice(whole.length)]
    }),
  )
}

/** The values of a list in JSON, or the members of an object with their keys, as they are spelled. */
export function itemsOf(json: string): string[] {
  if (!/^[{[]/.test(json)) throw new Error(`It is neither a list nor an object: ${json}`)
  const items: string[] = []
  let depth = 0
  let from = 1
  for (const { 0: token, index } of json.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g)) {
    if (token === '{' || token === '[') depth++
    if (token === '}' || token === ']') depth--
    if (depth > 1 || (depth === 1 && token !== ',')) continue
    items.push(json.slice(from, index).trim())
    from = index + 1
  }
  return items.filter(item => item !== '')
}
