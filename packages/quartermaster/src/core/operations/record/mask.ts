/** What stands for a value nobody is to see. */
const MASK = '•••'

/** The names of the arguments without their values. Deeper names could be data themselves, so they are not shown. */
export function maskArguments(argumentsJson: string): Record<string, string> {
  const value: unknown = JSON.parse(argumentsJson)
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(Object.keys(value).map(name => [name, MASK]))
}
