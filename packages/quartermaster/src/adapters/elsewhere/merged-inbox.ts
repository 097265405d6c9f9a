import type { Clock } from '../../core/kernel/index.ts'
import { within } from '../mcp-bridge/index.ts'
import { isRecord, type Response } from '../mcp-wire/index.ts'
import {
  amended,
  compare,
  contentOf,
  dataOf,
  heldIn,
  limited,
  listIn,
  type MergedCall,
  messageIn,
  timeOf,
  toResponse,
  whyNot,
} from './answers.ts'
import type { Directory } from './directory.ts'
import type { Workspace } from './workspace.ts'

/** The inboxes of all workspaces, as one that can be waited for. */
export interface MergedInbox {
  wait(call: MergedCall): Promise<Response>
  /** Something arrived in a workspace, or it can be asked from now on. */
  arrived(workspace: Workspace): void
}

interface MergedInboxDeps {
  readonly directory: Directory
  readonly clock: Clock
  ready(): readonly Workspace[]
  /** The same, of which there has to be one. */
  expectReady(): readonly Workspace[]
}

/** What is known of the first message of an inbox. */
interface Head {
  readonly data: Record<string, unknown>
  /** When it was written; absent where nothing waits. */
  readonly at?: string
}

/** A slow server does not hold up the messages of others. */
const PEEK_MS = 2_000
const LATE_MS = 20_000
const ANSWER_MS = 15_000
/** A server that claims older messages than others does not keep theirs back. */
const MOST_IN_A_ROW = 3
const PROGRESS_MS = 15_000
/** What another client had in hand becomes free without an event. */
const LOOK_AGAIN_MS = 15_000
const WAIT = { usual: 60, most: 300 }

export function createMergedInbox({ directory, clock, ready, expectReady }: MergedInboxDeps): MergedInbox {
  /** Open waits, which look again when something arrives. */
  const waits = new Set<(workspace: Workspace) => void>()
  const peeks = new Map<Workspace, Promise<Head>>()
  const late = new Set<Workspace>()
  /** What slow servers have answered after the time that others wait. */
  const heads = new Map<Workspace, Head>()
  let served: { workspace: Workspace; count: number } | undefined

  function arrived(workspace: Workspace): void {
    for (const wake of [...waits]) wake(workspace)
  }

  /** The first message of a workspace; `undefined` when it is not known within the time that the others wait. */
  async function headOf(workspace: Workspace, call: MergedCall): Promise<Head | undefined> {
    const known = heads.get(workspace)
    heads.delete(workspace)
    if (known) return known
    const head = await within(PEEK_MS, clock, peeks.get(workspace) ?? peek(workspace, call))
    if (!head) late.add(workspace)
    return head
  }

  /** A slow server is heard when its answer is there: the wait that is open then goes on with it. */
  function peek(workspace: Workspace, call: MergedCall): Promise<Head> {
    const peeking = call
      .ask(workspace, 'inbox_peek', { limit: 1 }, AbortSignal.timeout(LATE_MS))
      .catch(() => undefined)
      .then(answer => {
        const data = (answer && dataOf(answer)) ?? {}
        const [message] = listIn(data, 'messages')
        const head = { data, ...(message && { at: timeOf(message, 'created_at') }) }
        if (late.delete(workspace) && message) {
          heads.set(workspace, head)
          arrived(workspace)
        }
        return head
      })
      .finally(() => peeks.delete(workspace))
    peeks.set(workspace, peeking)
    return peeking
  }

  /** The workspaces in which something waits, the oldest first, unless one was served too often while others wait. */
  async function lookInto(some: readonly Workspace[], call: MergedCall) {
    const found = await Promise.all(
      some
        .filter(workspace => ready().includes(workspace))
        .map(async workspace => ({ workspace, head: await headOf(workspace, call) })),
    )
    const waiting = found
      .flatMap(({ workspace, head }) => (head?.at === undefined ? [] : [{ workspace, at: head.at }]))
      .sort((one, other) => compare(one.at, other.at))
    const isTooOften = ({ workspace }: { workspace: Workspace }) =>
      served?.workspace === workspace && served.count >= MOST_IN_A_ROW
    const fair = [...waiting.filter(one => !isTooOften(one)), ...waiting.filter(isTooOften)]
    return {
      waiting: fair.map(({ workspace }) => workspace),
      late: found.flatMap(({ workspace, head }) => (head ? [] : [workspace])),
      held: heldIn(found.flatMap(({ head }) => (head ? [head.data] : []))),
    }
  }

  function handOut(workspace: Workspace, response: Response): Response {
    const data = dataOf(response)
    const message = isRecord(data?.message) ? data.message : undefined
    if (!data || typeof message?.activity_id !== 'string') return response
    served = { workspace, count: served?.workspace === workspace ? served.count + 1 : 1 }
    directory.handedOut(workspace, message.activity_id)
    const arrival_workspace_id = workspace.facts()?.id
    const label = directory.labelOf(workspace)
    const words = `It arrived in your workspace ${label}. What you do without a workspace_id until you have answered it is done there.`
    return amended(response, {
      content: [{ type: 'text', text: words }, ...contentOf(response)],
      structuredContent: { ...data, message: { ...message, arrival_workspace_id } },
    })
  }

  /** Looks into all inboxes whenever a message arrives in one of them. */
  async function waitForAny(call: MergedCall): Promise<Response> {
    const { timeout_secs: wanted = WAIT.usual } = call.input
    const [any] = expectReady()
    // The server says what is wrong with it.
    if (any && (typeof wanted !== 'number' || wanted < 1)) return call.forward(any, call.input)
    const seconds = Math.min(Number(wanted), WAIT.most)
    // Many clients give up on a call after 60 seconds.
    const until = clock.now() + 1_000 * (seconds > 10 ? seconds - 2 : seconds)
    const stop = tellProgress(call)
    const looked = { late: [] as readonly Workspace[], held: {} }
    let some = expectReady()
    let heard = createWake()
    try {
      for (;;) {
        heard.stop()
        heard = createWake()
        const found = await lookInto(some, call)
        Object.assign(looked, found)
        for (const workspace of found.waiting) {
          const limit = limited(call.signal, ANSWER_MS)
          const answer = await call.ask(workspace, call.tool, { timeout_secs: 1 }, limit).catch(() => undefined)
          if (answer && messageIn(answer)) return handOut(workspace, answer)
        }
        call.signal.throwIfAborted()
        const left = until - clock.now()
        if (left <= 0) return noMessage(seconds, looked)
        some = await heard.within(Math.min(left, LOOK_AGAIN_MS), call.signal)
      }
    } finally {
      heard.stop()
      stop()
    }
  }

  function noMessage(seconds: number, { late, held }: { late: readonly Workspace[]; held: object }): Response {
    const absent = directory.all.filter(workspace => !ready().includes(workspace))
    const words = [
      `No message came within ${seconds} seconds.`,
      ...absent.map(workspace => `${directory.labelOf(workspace)} was left out: ${whyNot(workspace)}`),
      ...late.map(workspace => `${directory.labelOf(workspace)} has not answered yet; ask again.`),
    ]
    const note = words.join(' ')
    return toResponse({ content: [{ type: 'text', text: note }], structuredContent: { message: null, ...held, note } })
  }

  /** Wakes an open wait for the workspaces in which something has arrived since, or for all when the time is over. */
  function createWake() {
    const some = new Set<Workspace>()
    let wake = () => {}
    const listener = (workspace: Workspace) => {
      some.add(workspace)
      wake()
    }
    waits.add(listener)
    return {
      stop: () => void waits.delete(listener),
      within(ms: number, signal: AbortSignal): Promise<readonly Workspace[]> {
        return new Promise<readonly Workspace[]>((resolve, reject) => {
          const over = () => done(() => reject(signal.reason))
          const cancel = clock.after(ms, () => done(() => resolve(ready())))
          function done(end: () => void): void {
            cancel()
            waits.delete(listener)
            signal.removeEventListener('abort', over)
            end()
          }
          signal.addEventListener('abort', over, { once: true })
          wake = () => done(() => resolve([...some]))
          if (some.size > 0) wake()
        })
      },
    }
  }

  function tellProgress(call: MergedCall): () => void {
    let cancel = () => {}
    const again = (progress: number) => {
      cancel = clock.after(PROGRESS_MS, () => {
        call.progress({ progress, message: 'No message yet.' })
        again(progress + 1)
      })
    }
    again(1)
    return () => cancel()
  }

  return { wait: waitForAny, arrived }
}
