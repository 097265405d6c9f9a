import { ID, normalized, type Told } from './call-outcome.ts'
import { CASES, type Case, type Peer } from './cases.ts'
import type { Place } from './projects.ts'
import type { Served } from './runtimes.ts'

/** The agents of one runtime's fixture. */
export interface Fixture {
  readonly name: string
  readonly place: Place
  readonly clerk: Served
  readonly reader: Served
}

/** What each case came to, by its name. */
export type Transcript = Readonly<Record<string, Told>>

/** Tools that stand for all others of an agent, and belong to no capability. */
export const OF_GATEWAY: ReadonlySet<string> = new Set(['find_tools', 'describe_tool', 'call_tool'])

/** Those, and what is shown beside an agent's tools. */
export const OF_VIEWS: ReadonlySet<string> = new Set([...OF_GATEWAY, 'read_docs', 'get_status'])

export const nameOf = ({ tool, what }: Case): string => `${tool}: ${what}`

/** Goes through all cases, one after the other, as one runtime's user would. */
export async function play(
  { name, place, clerk, reader }: Fixture,
  skips: (one: Case) => boolean,
): Promise<Transcript> {
  const ids = new Map<string, string>()
  const peer = await peerOf(name, place)
  const transcript: Record<string, Told> = {}
  for (const one of CASES.filter(one => !skips(one))) {
    const { tool, input, as, peer: beside } = one
    if (beside?.when === 'before') await beside.act(peer)
    const given = typeof input === 'function' ? input(kind => ids.get(kind) ?? '') : input
    const calling = (as === 'reader' ? reader : clerk).call(tool, given)
    const [told] = await Promise.all([calling, beside?.when === 'meanwhile' ? beside.act(peer) : undefined])
    // What was refused repeats what it was given, which was never there.
    if (/^(done|waits)/.test(one.comesTo)) for (const [id, kind = ''] of told.text.matchAll(ID)) ids.set(kind, id)
    transcript[nameOf(one)] = normalized(told, name)
  }
  return transcript
}

async function peerOf(fixture: string, { control, fileOf }: Place): Promise<Peer> {
  const agent = `top-${fixture}`
  return {
    clerk: `clerk-${fixture}`,
    file: await fileOf(agent),
    async call(tool, input) {
      const { result } = await control.call({ agent, tool, input })
      if (result.isError) throw new Error(JSON.stringify(result.content))
      return result.structuredContent as Record<string, unknown>
    },
  }
}
