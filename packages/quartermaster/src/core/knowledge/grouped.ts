/** Values by key, in the order they came. */
export function grouped<T>(pairs: readonly (readonly [string, T])[]): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const [key, value] of pairs) addTo(groups, key, value)
  return groups
}

export function addTo<T>(groups: Map<string, T[]>, key: string, value: T): void {
  const group = groups.get(key)
  if (group) group.push(value)
  else groups.set(key, [value])
}
