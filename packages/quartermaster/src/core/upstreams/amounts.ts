/** How often each of them is there. */
export function amounts(names: Iterable<string>): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const name of names) found.set(name, (found.get(name) ?? 0) + 1)
  return found
}
