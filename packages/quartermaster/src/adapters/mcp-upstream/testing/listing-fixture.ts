import { UpstreamConfig } from '../../../contracts/index.ts'
import { otherNamesIn } from '../../../core/upstreams/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createDefinitionLister } from '../offer/list-definitions.ts'
import { factsOf, listedSession } from './bare-session.ts'
import { untilAborted } from './until-aborted.ts'

/** A server that is listed, as slowly as the test wants. */
export function listingStage(tools = {}) {
  const clock = createFakeClock()
  const server = {
    lists: 0,
    isSlow: false,
    fails: undefined as Error | undefined,
    isWhole: true,
    listeningSince: clock.now() as number | undefined,
    /** Another server takes its place while it answers. */
    isReplaced: false,
    /** Whether it answers requests of its own; not while it is being opened. */
    isUp: true,
    /** It tells of something while it lists what it has. */
    onList() {},
  }
  const listed = listedSession(async (_kind, _cursor, signal) => {
    server.lists++
    server.onList()
    if (server.fails) throw server.fails
    if (server.isReplaced) current = { ...session }
    return server.isSlow ? untilAborted(signal) : { tools: [] }
  })
  const listeningSince = () => server.listeningSince
  const session = { ...listed, facts: factsOf({ capabilities: { tools } }), listeningSince }
  let current = session
  const written: string[] = []
  const taken: unknown[] = []
  const store = { fails: undefined as Error | undefined }
  const compared: string[] = []
  const notes: string[] = []
  const own = { agent: 'ada', connection: { session: () => (server.isUp ? session : undefined) } }
  const config = UpstreamConfig.parse({ command: 'server' })
  const lister = createDefinitionLister({
    clock,
    reviewQueue: {
      async see() {
        if (store.fails) throw store.fails
        written.push('definitions')
        return false
      },
    },
    own: {
      async onMainListed(_session, { tools }) {
        taken.push(tools)
        return server.isWhole
      },
      async compare(_session, signal) {
        compared.push('definitions')
        server.onList()
        if (server.fails) throw server.fails
        if (server.isSlow) await untilAborted(signal)
        return true
      },
    },
    serverFacts: {
      era: () => undefined,
      setEra() {},
      hasAnswered: () => false,
      knownSince: () => 0,
      load: async () => {},
      save: () => void written.push('facts'),
      saved: async () => {},
    },
    config: () => config,
    main: () => ({ session: () => (server.isUp ? current : undefined), verifyAlive: async () => {} }),
    otherTools: async () => otherNamesIn([]),
    note: text => void notes.push(text),
  })
  return { clock, server, session, lister, own, written, taken, store, compared, notes }
}
