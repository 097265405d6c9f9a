import type { AddedUpstream } from '../../contracts/index.ts'

interface Given extends Pick<AddedUpstream, 'madeAgent'> {
  readonly granted: readonly string[]
}

/** Who got what was added. */
export function givenLine(name: string, { granted, madeAgent }: Given): string {
  if (granted.length === 0) return `Given to nobody. Give it: quartermaster grant AGENT ${name}`
  const made = madeAgent === undefined ? '' : ' (made now, as the first agent here; it may also read this folder)'
  return `Given to: ${granted.join(', ')}${made}.`
}
