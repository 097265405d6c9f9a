/** What tools were called before, here and where they come from. Renaming a tool adds its old name here. */
export const OLD_NAMES = ['delegate_to_workspace', 'check_delegation_status', 'search_memory'] as const

/** The old names that a text still has. */
export function oldNamesIn(text: string): string[] {
  return OLD_NAMES.filter(name => new RegExp(`\\b${name}\\b`).test(text))
}
