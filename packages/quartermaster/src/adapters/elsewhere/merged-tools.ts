import { AppError } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { isRecord, type Params, type Response } from '../mcp-wire/index.ts'
import {
  compare,
  contentOf,
  dataOf,
  heldIn,
  limited,
  listIn,
  type MergedCall,
  stateText,
  textOf,
  timeOf,
  toResponse,
  whyNot,
} from './answers.ts'
import type { Directory } from './directory.ts'
import { type Item, withParameter } from './lists.ts'
import { createMergedInbox } from './merged-inbox.ts'
import type { Workspace } from './workspace.ts'

export interface MergedTools {
  isMerged(tool: string): boolean
  /** The tool as the client sees it. */
  define(tool: Item): Item
  /** Which parameter of a tool names the workspace, if any. */
  parameterOf(tool: string): string | undefined
  call(call: MergedCall): Promise<Response>
  /** A workspace can be asked from now on. */
  joined(workspace: Workspace): void
  /** A message arrived in one of the workspaces. */
  arrived(workspace: Workspace): void
}

interface MergedToolsDeps {
  readonly directory: Directory
  readonly clock: Clock
  /** The workspaces that can be asked now. */
  ready(): readonly Workspace[]
  /** Whether a workspace has listed the tool. */
  hasTool(workspace: Workspace, tool: string): boolean
}

interface Route {
  readonly parameter?: 'workspace_id' | 'via_workspace'
  /** Inputs whose values tell the workspace. */
  readonly ids?: readonly string[]
  /** All workspaces are asked when none is named or being handled. */
  readonly all?: Pages
  /** It ends the handling of the message that `activity_id` names. */
  readonly settles?: boolean
  /** Whom it is for has to be among the peers that all workspaces have at present. */
  readonly toPeer?: boolean
  /** An id that is new here may be known in the workspace that is being handled. */
  readonly takesNewIds?: boolean
}

/** A list that all workspaces have, and how its items tell whose they are. */
interface Pages {
  readonly list: string
  readonly mark: string
  /** Sorted by this field; otherwise by workspace. */
  readonly by?: string
  /** Asked of all also while one is being handled. */
  readonly always?: boolean
}

const ONE: Route = { parameter: 'workspace_id' }
const MESSAGE: Route = { ...ONE, ids: ['activity_id'], settles: true }
const PEER: Route = { parameter: 'via_workspace', ids: ['workspace_id'], toPeer: true }

const ROUTES: Readonly<Record<string, Route>> = {
  wait_for_message: {},
  inbox_peek: {
    all: { list: 'messages', mark: 'arrival_workspace_id', by: 'created_at', always: true },
  },
  inbox_pop: MESSAGE,
  reply: MESSAGE,
  read_attachment: { ...ONE, ids: ['attachment_id'] },
  send_message_to_user: ONE,
  broadcast_message: ONE,
  list_peers: { all: { list: 'peers', mark: 'via_workspace', always: true } },
  delegate_task: PEER,
  delegate_task_async: PEER,
  check_task_status: { parameter: 'via_workspace', ids: ['task_id', 'workspace_id'] },
  cancel_task: { parameter: 'via_workspace', ids: ['task_id'] },
  commit_memory: { ...ONE, ids: ['memory_id'] },
  forget_memory: { ...ONE, ids: ['memory_id'] },
  recall_memory: { ...ONE, all: { list: 'memories', mark: 'workspace_id' } },
  chat_history: { ...ONE, ids: ['peer_id'], takesNewIds: true },
  get_workspace_info: ONE,
  get_status: { ...ONE, ids: ['id', 'operationId'] },
}

/** The word that asks all workspaces. */
const ALL = 'all'
const LIST_MS = 20_000
const LIMITS: Readonly<Record<string, number>> = { messages: 10, peers: 50, memories: 10 }
const PEERS_KNOWN_MS = 60_000
const PEERS_MS = 5_000
const MOST_PEER_PAGES = 50

export function createMergedTools(deps: MergedToolsDeps): MergedTools {
  const { directory, clock, ready, hasTool } = deps
  const inbox = createMergedInbox({ directory, clock, ready, expectReady })
  let peersKnownAt = Number.NEGATIVE_INFINITY
  /** Workspaces whose peers are not known. */
  let unread: Workspace[] = []

  function expectReady(): readonly Workspace[] {
    const there = ready()
    if (there.length > 0) return there
    const why = directory.all.map(workspace => `${directory.labelOf(workspace)}: ${whyNot(workspace)}`)
    throw new AppError('DEPENDENCY_UNAVAILABLE', `None of your workspaces can be reached. ${why.join(' ')}`)
  }

  /** Asks all workspaces that are there. Those that fail or take too long are named. */
  async function askAll(call: MergedCall, toInput: (workspace: Workspace) => Params | undefined) {
    const absent = directory.all
      .filter(workspace => !ready().includes(workspace))
      .map(workspace => `${directory.labelOf(workspace)} is left out: ${whyNot(workspace)}`)
    const answers = await Promise.all(
      expectReady().map(async workspace => {
        const input = toInput(workspace)
        if (!input) return []
        const answer = await call.ask(workspace, call.tool, input, limited(call.signal, LIST_MS)).catch(() => undefined)
        if (call.signal.aborted) throw call.signal.reason
        const data = answer && dataOf(answer)
        if (!data)
          absent.push(`${directory.labelOf(workspace)} is left out: ${textOf(answer) || 'it did not answer in time.'}`)
        return data ? [{ workspace, data, content: contentOf(answer) }] : []
      }),
    )
    return { answers: answers.flat(), absent }
  }

  async function pagesOf(call: MergedCall, pages: Pages): Promise<Response> {
    const { input } = call
    const cursors = cursorsIn(input.cursor)
    const wanted = typeof input.limit === 'number' ? input.limit : (LIMITS[pages.list] ?? 10)
    const limit = Math.max(1, Math.floor(wanted / Math.max(1, ready().length)))
    const { answers, absent } = await askAll(call, ({ index }) => {
      const { cursor: _, ...own } = input
      if (!cursors) return { ...own, limit }
      const cursor = cursors[index]
      return typeof cursor === 'string' ? { ...own, limit, cursor } : undefined
    })
    const items = answers.flatMap(({ workspace, data }) =>
      listIn(data, pages.list).map(item => ({ ...item, [pages.mark]: workspace.facts()?.id })),
    )
    if (pages.by !== undefined) items.sort((one, other) => compare(timeOf(one, pages.by), timeOf(other, pages.by)))
    const next = Object.fromEntries(
      answers.flatMap(({ workspace: { index }, data: { next_cursor } }) =>
        typeof next_cursor === 'string' ? [[index, next_cursor]] : [],
      ),
    )
    const notes = [
      ...answers.flatMap(({ workspace, data }) =>
        typeof data.note === 'string' ? `${directory.labelOf(workspace)}: ${data.note}` : [],
      ),
      ...absent,
    ]
    const isMore = Object.keys(next).length > 0
    const cursor = isMore ? Buffer.from(JSON.stringify(next)).toString('base64url') : null
    const structuredContent = {
      [pages.list]: items,
      next_cursor: cursor,
      ...heldIn(answers.map(({ data }) => data)),
      ...(notes.length > 0 && { note: notes.join(' ') }),
    }
    const shown = answers.flatMap(({ workspace, content }) => [heading(workspace), ...content])
    const rest = [...absent, ...(isMore ? [`There is more of all; go on with cursor "${cursor}".`] : [])]
    const content = [...shown, ...rest.map(text => ({ type: 'text', text }))]
    return toResponse({ content, structuredContent })
  }

  const heading = (workspace: Workspace) => ({
    type: 'text',
    text: `In your workspace ${directory.labelOf(workspace)}:`,
  })

  /** Looks at all peers, so that no server can take a task by claiming a peer that another one has. */
  async function learnPeers(call: MergedCall): Promise<void> {
    if (clock.now() - peersKnownAt < PEERS_KNOWN_MS) return
    unread = []
    await Promise.all(directory.all.map(workspace => readPeers(workspace, call).catch(() => unread.push(workspace))))
    call.signal.throwIfAborted()
    if (unread.length === 0) peersKnownAt = clock.now()
  }

  async function readPeers(workspace: Workspace, call: MergedCall): Promise<void> {
    if (!ready().includes(workspace)) throw new AppError('DEPENDENCY_UNAVAILABLE', whyNot(workspace))
    let cursor: unknown
    for (let page = 0; page < MOST_PEER_PAGES; page++) {
      const input = { limit: 200, ...(typeof cursor === 'string' && { cursor }) }
      const data = dataOf(await call.ask(workspace, 'list_peers', input, limited(call.signal, PEERS_MS)))
      cursor = data?.next_cursor
      if (typeof cursor !== 'string') return
    }
  }

  async function workspaceFor(call: MergedCall, route: Route): Promise<Workspace> {
    if (call.named !== undefined) return directory.named(call.named)
    const ids = (route.ids ?? []).flatMap(name => {
      const value = call.input[name]
      return typeof value === 'string' ? [value] : []
    })
    if (route.toPeer) await learnPeers(call)
    // A name may be that of a peer of a workspace that cannot be asked; an id is that of one alone.
    const [missing] = route.toPeer && ids.some(id => !id.startsWith('ws_')) ? unread : []
    if (missing)
      throw new AppError(
        'INPUT_INVALID',
        `Nothing was done: ${directory.labelOf(missing)} could not be asked whether it has a peer of this name. Give the id of the peer, or say via_workspace.`,
      )
    // The first id that is known decides: a task is one of one peer.
    const owners = ids.map(id => directory.ownersOf([id])).find(found => found.length > 0) ?? []
    const parameter = route.parameter ?? 'workspace_id'
    if (ids.length > 0 && owners.length === 0 && !route.takesNewIds)
      throw new AppError(
        'INPUT_INVALID',
        `"${ids[0]?.slice(0, 100)}" did not come from any of your workspaces in this session. Nothing was done. Say with ${parameter} whose it is: ${directory.all.map(directory.labelOf).join(', ')}.`,
      )
    return directory.expectOne(owners, parameter)
  }

  async function inOne(call: MergedCall, route: Route): Promise<Response> {
    const workspace = await workspaceFor(call, route)
    const response = await call.forward(workspace, call.input)
    const { activity_id, outcome } = call.input
    const isDone = dataOf(response) !== undefined && outcome !== 'in_progress'
    if (route.settles && isDone && typeof activity_id === 'string') directory.settled(workspace, activity_id)
    return response
  }

  async function statusOfAll(call: MergedCall): Promise<Response> {
    const isThere = ready().some(workspace => hasTool(workspace, call.tool))
    const ofOne = (workspace: Workspace) => (hasTool(workspace, call.tool) ? {} : undefined)
    const { answers } = isThere ? await askAll(call, ofOne) : { answers: [] }
    const workspaces = directory.all.map(workspace => describe(directory, workspace))
    const lines = directory.all.map(workspace => `${directory.labelOf(workspace)}: ${stateText(workspace)}`)
    const sum = (name: string) => answers.reduce((all, { data }) => all + (Number(data[name]) || 0), 0)
    const concat = (name: string) => answers.flatMap(({ data }) => listIn(data, name))
    const structuredContent = {
      workspaces,
      active: sum('active'),
      disabled: sum('disabled'),
      tools: concat('tools'),
      operations: concat('operations'),
    }
    const shown = answers.flatMap(({ workspace, content }) => [heading(workspace), ...content])
    return toResponse({ content: [{ type: 'text', text: lines.join('\n') }, ...shown], structuredContent })
  }

  return {
    isMerged: tool => Object.hasOwn(ROUTES, tool),
    parameterOf: tool => ROUTES[tool]?.parameter,
    joined(workspace) {
      peersKnownAt = Number.NEGATIVE_INFINITY
      inbox.arrived(workspace)
    },
    arrived: inbox.arrived,
    define(tool) {
      const { parameter, all } = ROUTES[String(tool.name)] ?? {}
      const names = directory.all.map(directory.labelOf).join(', ')
      const named = parameter ? withParameter(tool, parameter, parameterText(parameter, { names, all })) : tool
      // Clients refuse what does not fit it, and one server must not make the answers of all unreadable.
      const { outputSchema: _, ...rest } = named
      return rest
    },
    async call(call) {
      const route = ROUTES[call.tool] ?? ONE
      if (call.tool === 'wait_for_message') return inbox.wait(call)
      if (call.tool === 'get_status' && call.named === undefined && Object.keys(call.input).length === 0)
        return statusOfAll(call)
      const { all } = route
      if (!all || (call.named !== undefined && call.named !== ALL)) return inOne(call, route)
      if (all.always || call.named === ALL || !directory.isHandling()) return pagesOf(call, all)
      return inOne(call, route)
    },
  }
}

function parameterText(parameter: string, { names, all }: { names: string; all: Pages | undefined }): string {
  const usual = all ? `"${ALL}" for all of them` : 'only needed when that is not clear'
  if (parameter === 'via_workspace')
    return `The one of your own workspaces through which, by id or name: ${names}. Only needed when several have such a peer or task.`
  return `Which of your workspaces, by id or name: ${names}; ${usual}. Left out, the one whose message you are answering.`
}

function describe({ nameOf }: Directory, workspace: Workspace): object {
  return {
    id: workspace.facts()?.id ?? null,
    name: nameOf(workspace),
    url: workspace.address.url,
    state: workspace.state().kind,
    text: stateText(workspace),
  }
}

/** The cursor of each workspace in one of ours. Throws when it is none. */
function cursorsIn(cursor: unknown): Record<string, unknown> | undefined {
  if (cursor === undefined) return undefined
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : ''
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
  } catch {
    // Told below.
  }
  throw new AppError('INPUT_INVALID', 'This is no cursor of a page before. Leave it out to begin.')
}
