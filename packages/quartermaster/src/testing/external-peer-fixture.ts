import { onTestFinished } from 'vitest'
import { createIds, openSha256, sha256, silentLog } from '../adapters/system/index.ts'
import { DEFAULT_ORGANISATION, DEFAULT_SETTINGS, type NewExternalPeer, type WorkspaceRow } from '../contracts/index.ts'
import { createAttachments, type UploadDeps } from '../core/attachments/index.ts'
import {
  createExternalPeers,
  createOutboundWorker,
  createOutbox,
  type RemoteAgents,
  type RemoteAnswer,
  type RemoteEvent,
  RemoteFailure,
  type RemoteMessage,
  type RemotePart,
  type RemoteState,
  type RemoteTask,
  type SeenCard,
} from '../core/external-peers/index.ts'
import { openDelegations } from './delegation-fixture.ts'

export const text = (words: string): RemotePart => ({ kind: 'text', text: words })

/** An A2A agent elsewhere, which does what a test says. */
export interface FakeRemote extends RemoteAgents {
  /** Everything it was sent, in order: `send`, `stream`, `get`, `subscribe`, `cancel`. */
  readonly heard: { readonly what: string; readonly message?: RemoteMessage; readonly id?: string }[]
  /** What it says of its tasks from now on. */
  says(state: RemoteState, words?: readonly RemotePart[], artifacts?: readonly RemotePart[]): void
  /** What is told in a stream. */
  tells(event: RemoteEvent): void
  /** The stream breaks. */
  breaks(): void
  /** From now on it fails like this; not any more when absent. */
  fails(failure?: RemoteFailure): void
  card: RemoteAgents['card']
  streaming: boolean
  answersWith?: RemoteAnswer
  readonly tasks: Map<string, RemoteTask>
}

export function fakeRemote(): FakeRemote {
  const heard: FakeRemote['heard'] = []
  const tasks = new Map<string, RemoteTask>()
  let failure: RemoteFailure | undefined
  let said = 0
  const waiting: RemoteEvent[] = []
  let wake: () => void = () => {}
  let isBroken = false

  function note(what: string, more: { message?: RemoteMessage; id?: string } = {}): void {
    heard.push({ what, ...more })
    if (failure) throw failure
  }

  function taken({ messageId, taskId }: RemoteMessage): RemoteTask {
    const id = taskId ?? `there-${messageId}`
    const task = tasks.get(id) ?? { id, contextId: 'c1', status: status('working'), artifacts: [] }
    tasks.set(id, task)
    return task
  }

  const status = (state: RemoteState, words: readonly RemotePart[] = []) => ({ state, said: words, mark: `${said++}` })

  function expect(id: string): RemoteTask {
    const task = tasks.get(id)
    if (task) return task
    throw new RemoteFailure('unknownTask', 'It says: not found')
  }

  async function* events(first: RemoteEvent, signal: Parameters<RemoteAgents['subscribe']>[2]) {
    yield first
    isBroken = false
    signal.addEventListener('abort', () => wake())
    while (!signal.aborted) {
      const next = waiting.shift()
      if (next) yield next
      else if (isBroken) throw new RemoteFailure('unreachable', 'It broke off.')
      else await new Promise<void>(resolve => (wake = resolve))
    }
    throw new RemoteFailure('unreachable', 'It was given up.')
  }

  const remote: FakeRemote = {
    heard,
    tasks,
    streaming: false,
    says(state, words = [], artifacts = []) {
      for (const [id, task] of tasks)
        tasks.set(id, { ...task, status: status(state, words), artifacts: [{ id: 'a', parts: artifacts }] })
    },
    tells(event) {
      waiting.push(event)
      wake()
    },
    breaks() {
      isBroken = true
      wake()
    },
    fails(next) {
      failure = next
    },
    async card() {
      note('card')
      return seenCard({ streaming: remote.streaming })
    },
    async send(_place, message) {
      note('send', { message })
      return remote.answersWith ?? { task: taken(message) }
    },
    async *stream(_place, message, signal) {
      note('stream', { message })
      yield* events(remote.answersWith ?? { task: taken(message) }, signal)
    },
    async get(_place, id) {
      note('get', { id })
      return expect(id)
    },
    async *subscribe(_place, id, signal) {
      note('subscribe', { id })
      yield* events({ task: expect(id) }, signal)
    },
    async cancel(_place, id) {
      note('cancel', { id })
      const task = expect(id)
      tasks.set(id, { ...task, status: status('canceled') })
    },
  }
  return remote
}

export function seenCard(more: Partial<SeenCard> = {}): SeenCard {
  return {
    url: 'https://there.example/a2a',
    binding: 'JSONRPC',
    tenant: null,
    streaming: false,
    facts: { description: 'Paints.', version: '1', skills: [{ id: 'paint', name: 'Paint', description: '' }] },
    ...more,
  }
}

/** Workspaces, and an A2A agent elsewhere among them, with a clock that stands still. */
export async function openExternalPeers(secrets: Readonly<Record<string, string>> = {}) {
  const keeping = (over: Pick<UploadDeps, 'store' | 'clock'>) =>
    createAttachments({ ...over, ids: createIds(), log: silentLog, openDigest: openSha256, settings: DEFAULT_SETTINGS })
  const fixture = await openDelegations({ attachments: keeping })
  const { store, clock, organisation, delegations, messages } = fixture
  const remote = fakeRemote()
  const parts = {
    store,
    clock,
    log: silentLog,
    organisation,
    remote,
    secrets: { get: (name: string) => secrets[name] },
  }
  const attachments = keeping(fixture)
  const peers = createExternalPeers(parts)
  const leaseMs = 30_000

  /** One more process that sends. */
  const another = ({ self = 'one', isAlone = true } = {}) => {
    const outbox = createOutbox({ store, clock, self, leaseMs, isAlone: () => isAlone })
    const more = { random: () => 0.5, digest: sha256, outbox, peers, delegations, messages, attachments }
    const worker = createOutboundWorker({ ...parts, ...more, watchers: messages.watchers, leaseMs })
    onTestFinished(() => worker.stop())
    return worker
  }
  onTestFinished(() => peers.stop())

  const add = (more: Partial<NewExternalPeer> = {}) =>
    peers.add(DEFAULT_ORGANISATION, { name: 'painter', cardUrl: 'https://there.example', ...more })

  /** An asker, and the agent elsewhere beside it. */
  async function adaAndPainter() {
    const { ada } = await fixture.workspaces('ada')
    const { id } = await add()
    const painter = (await store.get('workspaces', id)) as WorkspaceRow
    return { ada, painter }
  }

  /** Lets what is under way come to rest. */
  async function settle(ms = 0): Promise<void> {
    for (let turn = 0; turn < 30; turn++) await clock.breathe()
    if (ms > 0) await clock.advance(ms)
    for (let turn = 0; turn < 30; turn++) await clock.breathe()
  }

  const outgoing = (id: string) => store.get('outgoingtasks', id)

  return { ...fixture, remote, peers, attachments, another, add, adaAndPainter, settle, outgoing }
}
