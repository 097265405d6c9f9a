const PREFIX = 'upstream:'

/** The unit that a server of others is: its definitions come and go together, and what is wrong with it is told under this. */
export function upstreamUnit(name: string): string {
  return `${PREFIX}${name}`
}

/** The server of others that a unit is; nothing where it is none. */
export function upstreamIn(unit: string): string | undefined {
  return unit.startsWith(PREFIX) ? unit.slice(PREFIX.length) : undefined
}
