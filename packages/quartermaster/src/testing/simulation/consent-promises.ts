import type { Happening, Outcome, Said } from './history.ts'

const GUARDED = new Set(['guarded_add', 'guarded_set'])

/**
 * Nothing that needs consent runs without a yes that counts: from its answer until its end or until it is taken back, and
 * with no no beside it. It counts at the moment at which the process that runs it looked.
 */
export function allowedFirst({ history }: Outcome): string[] {
  const said = new Map<string, Said>()
  const seen = new Map<string, readonly Said[]>()
  const wrong: string[] = []
  for (const one of history) {
    if (one.kind === 'granted') said.set(one.grant, one)
    if (one.kind === 'revoked') for (const grant of one.grants) said.delete(grant)
    if (one.kind === 'looked') seen.set(`${one.node} ${one.operation}`, counting(said, one.at))
    if (one.kind !== 'ran' || !GUARDED.has(one.tool)) continue
    const looked = seen.get(`${one.node} ${one.operation}`) ?? []
    if (!isAllowed(one, counting(said, one.at)) && !isAllowed(one, looked))
      wrong.push(`${one.operation} ran for "${one.item}" and nobody allowed it then.`)
  }
  return wrong
}

function counting(said: ReadonlyMap<string, Said>, at: number): readonly Said[] {
  return [...said.values()].filter(({ expiresAt }) => expiresAt > at)
}

type Ran = Extract<Happening, { kind: 'ran' }>

function isAllowed({ operation, item }: Ran, counting: readonly Said[]): boolean {
  const meant = counting.filter(one => (one.lasting === 'once' ? one.askedFor === operation : one.scope === item))
  return meant.length > 0 && meant.every(({ decision }) => decision === 'allow')
}
