import type { AddedUpstream } from '../../contracts/index.ts'

interface Given extends Pick<AddedUpstream, 'alsoHave' | 'madeAgent'> {
  readonly granted: readonly string[]
}

/** Who got what was added. */
export function givenLine(name: string, { granted, alsoHave = [], madeAgent }: Given): string {
  const [other] = alsoHave
  if (granted.length === 0 && other === undefined) return `Given to nobody. Give it: quartermaster grant AGENT ${name}`
  const made =
    madeAgent === undefined ? '' : ' (made now, as the first agent here; it may also read the project folder)'
  const given = granted.length === 0 ? [] : [`Given to: ${granted.join(', ')}${made}.`]
  const had = `Still with: ${alsoHave.join(', ')}. Take it away: quartermaster grant ${other} ${name} --revoke`
  return [...given, ...(other === undefined ? [] : [had])].join(' ')
}

/** Who would get what would be added. */
export function wouldGiveLine({ granted, alsoHave = [], madeAgent }: Given): string {
  const made =
    madeAgent === undefined ? '' : ' (made then, as the first agent here; it may also read the project folder)'
  const given = granted.length > 0 ? `${granted.join(', ')}${made}` : 'nobody'
  const had = alsoHave.length > 0 ? `Still with: ${alsoHave.join(', ')}.` : ''
  // Whoever has it already is given nothing.
  return granted.length === 0 && had !== '' ? had : `Would be given to ${given}. ${had}`.trimEnd()
}
