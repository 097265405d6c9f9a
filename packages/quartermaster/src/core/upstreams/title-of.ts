/** What people are to call a tool, where it says that. */
export function titleOf(definition: unknown): string | undefined {
  if (typeof definition !== 'object' || definition === null) return undefined
  const { title, annotations } = definition as Record<string, unknown>
  if (typeof title === 'string') return title.slice(0, LONGEST)
  return annotations === undefined ? undefined : titleOf({ title: (annotations as { title?: unknown } | null)?.title })
}

const LONGEST = 100
